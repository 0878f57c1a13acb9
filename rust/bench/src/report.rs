//! One run for readers: on the screen, and as the sections of a file.

use super::aims;
use super::case::Group;
use super::exchange;
use super::machine::Meta;
use super::means;
use super::party::OURS;
use super::plot;
use super::qualities;
use super::rates;
use super::record::{Outcome, Record, fastest_peer};
use super::sections::{Block, Section};
use super::table::{Table, digits, seconds};

pub struct Document<'a> {
    pub group: &'a Group,
    pub meta: &'a Meta,
    pub outcome: &'a Outcome,
}

impl Document<'_> {
    /// Everything, for a terminal of 120 columns.
    pub fn screen(&self) -> String {
        let mut text = format!("\n{}\n\n{}\n", self.group.title, self.detail().screen());
        let tables = self.tables();
        for table in [&self.summary()].into_iter().chain(tables.iter().map(|(_, table)| table)) {
            text += &format!("{}\n", table.screen());
        }
        for line in self.facts().into_iter().chain(self.remarks()) {
            text += &format!("{line}\n");
        }
        text
    }

    /// Everything, for a file.
    pub fn sections(&self) -> Vec<Section> {
        let mut first = vec![Block::Text(self.group.notes.to_owned())];
        first.extend(plot::charts(self.group, &self.outcome.records).into_iter().map(Block::Chart));
        first.push(Block::Table(self.summary()));
        for (legend, table) in self.tables() {
            first.extend([Block::Text(legend.to_owned()), Block::Table(table)]);
        }
        let remarks = self.remarks();
        let sections = [
            (None, first),
            (Some("All parties"), vec![Block::Text(self.legend()), Block::Table(self.detail())]),
            (Some("Flagged, skipped and slower"), if remarks.is_empty() { vec![] } else { vec![Block::List(remarks)] }),
            (Some("Conditions"), vec![Block::List(self.facts())]),
        ];
        let sections = sections.into_iter().map(|(heading, blocks)| Section { heading, blocks });
        sections.filter(|section| !section.blocks.is_empty()).collect()
    }

    /// The tables that this group's records allow beside the summary, each with the meaning of its columns.
    fn tables(&self) -> Vec<(&'static str, Table)> {
        let records = &self.outcome.records;
        let tables = [
            (rates::LEGEND, rates::table(records)),
            (qualities::LEGEND, qualities::table(records)),
            (exchange::LEGEND, exchange::table(records)),
            (aims::LEGEND, aims::table(self.group.aims, records)),
            (means::LEGEND, means::table(self.group, records)),
        ];
        tables.into_iter().filter_map(|(legend, table)| Some((legend, table?))).collect()
    }

    fn legend(&self) -> String {
        format!(
            "`median`, `low` and `high` are of the rounds, which all parties take in turns; `first` is the very first \
             repetition. `ratio` is the median over that of `{OURS}` on as many threads. `floor` is the median over the \
             time that the step's floating-point operations take at the best matrix-product rate of the same run. \
             `{}`: {}; otherwise the line is marked with `!`.",
            self.group.check,
            self.group.agreement.describe()
        )
    }

    /// A line for each case and party.
    fn detail(&self) -> Table {
        let check = self.group.check;
        let heading = ["case", "thr", "who", "rounds", "median", "low", "high", "first", "ratio", "floor", check, ""];
        let mut table = Table::new(&heading, 3);
        for record in &self.outcome.records {
            let ours = self.find(record, OURS);
            table.push(vec![
                record.case.clone(),
                record.threads.to_string(),
                record.who.clone(),
                record.rounds.to_string(),
                seconds(record.median_s),
                seconds(record.low_s),
                seconds(record.high_s),
                seconds(record.first_s),
                ours.map_or("-".to_owned(), |ours| digits(record.median_s / ours.median_s)),
                record.floor_s.map_or("-".to_owned(), |floor| digits(record.median_s / floor)),
                check_text(record),
                if record.flag.is_some() { "!" } else { "" }.to_owned(),
            ]);
        }
        table
    }

    /// A line for each case: CladTorch beside the fastest other party.
    fn summary(&self) -> Table {
        let mut table = Table::new(&["case", "thr", "cladtorch", "floor", "fastest peer", "its median", "ratio"], 2);
        for ours in self.outcome.records.iter().filter(|record| record.who == OURS) {
            let floor = ours.floor_s.map_or("-".to_owned(), |floor| digits(ours.median_s / floor));
            let (who, median, ratio) = match fastest_peer(&self.outcome.records, ours) {
                None => ("-".to_owned(), "-".to_owned(), "-".to_owned()),
                Some(peer) => (peer.who.clone(), seconds(peer.median_s), digits(peer.median_s / ours.median_s)),
            };
            table.push(vec![
                ours.case.clone(),
                ours.threads.to_string(),
                seconds(ours.median_s),
                floor,
                who,
                median,
                ratio,
            ]);
        }
        table
    }

    fn beside(&self, record: &Record) -> impl Iterator<Item = &Record> {
        let (case, threads) = (record.case.clone(), record.threads);
        self.outcome.records.iter().filter(move |other| other.case == case && other.threads == threads)
    }

    fn find(&self, beside: &Record, who: &str) -> Option<&Record> {
        self.beside(beside).find(|record| record.who == who)
    }

    fn remarks(&self) -> Vec<String> {
        let flagged = self.outcome.records.iter().filter_map(|record| {
            let flag = record.flag.as_ref()?;
            Some(format!("! {}, {} thread(s), {}: {flag}", record.case, record.threads, record.who))
        });
        let skipped = self.outcome.skipped.iter().map(|skipped| {
            let case = skipped.case.as_ref().map(|case| format!(" in {case}")).unwrap_or_default();
            format!("skipped: {}{case}, {} thread(s): {}", skipped.who, skipped.threads, skipped.reason)
        });
        flagged.chain(skipped).chain(means::misses(self.group, &self.outcome.records)).collect()
    }

    fn facts(&self) -> Vec<String> {
        let meta = self.meta;
        let mut facts = vec![
            format!("command: {}", meta.command),
            format!("commit: {}, {}", meta.commit, meta.date),
            format!("machine: {}, {} cores", meta.cpu, meta.cores),
            format!("load average: {} before, {} after", meta.load_before, meta.load_after),
            format!("threads: {}; nothing is pinned to a core", meta.environment.join(", ")),
        ];
        for (threads, rate) in &meta.sgemm_rates {
            facts.push(format!("best matrix product on {threads} thread(s): {} GFLOP/s", digits(rate / 1e9)));
        }
        facts.extend(meta.versions.iter().map(|(name, version)| format!("{name}: {version}")));
        facts
    }
}

fn check_text(record: &Record) -> String {
    let before = record.check_before.map(|before| format!("{before:.3} > ")).unwrap_or_default();
    let error = record.check_error.map(|error| format!(" +- {error:.4}")).unwrap_or_default();
    let check = if record.check < 10.0 { format!("{:.4}", record.check) } else { digits(record.check) };
    format!("{before}{check}{error}")
}
