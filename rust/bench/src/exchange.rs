//! The time that processes which share their work spend on messages.

use super::record::Record;
use super::table::{Table, digits, seconds};

/// The meaning of the columns of [`table`].
pub const LEGEND: &str =
    "`exchange`: time of a repetition spent with messages, median of the rounds; `share`: its part of the time.";

/// A line for each record with this time; `None` if there is none.
pub fn table(records: &[Record]) -> Option<Table> {
    let mut table = Table::new(&["case", "who", "time", "exchange", "share"], 2);
    let known: Vec<_> = records.iter().filter_map(|record| Some((record, record.exchange_s?))).collect();
    for &(record, exchange) in &known {
        table.push(vec![
            record.case.clone(),
            record.who.clone(),
            seconds(record.median_s),
            seconds(exchange),
            format!("{} %", digits(100.0 * exchange / record.median_s)),
        ]);
    }
    (!known.is_empty()).then_some(table)
}
