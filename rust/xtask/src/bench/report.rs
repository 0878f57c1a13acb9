//! One run for people: on the screen and as a Markdown file.

use super::aims;
use super::case::Group;
use super::machine::Meta;
use super::means;
use super::party::OURS;
use super::qualities;
use super::rates;
use super::record::{Outcome, Record, fastest_peer};
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
        let tables = [
            Some(self.summary()),
            rates::table(&self.outcome.records),
            qualities::table(&self.outcome.records),
            aims::table(self.group.aims, &self.outcome.records),
            means::table(self.group, &self.outcome.records),
        ];
        for table in tables.into_iter().flatten() {
            text += &format!("{}\n", table.screen());
        }
        for line in self.facts().into_iter().chain(self.remarks()) {
            text += &format!("{line}\n");
        }
        text
    }

    /// The report with the given plots: file name and caption each.
    pub fn markdown(&self, plots: &[(String, String)]) -> String {
        let mut text = format!("# {}\n\n{}\n\n", self.group.title, self.group.notes);
        text += &format!("{}\n", self.summary().markdown());
        if let Some(table) = rates::table(&self.outcome.records) {
            text += &format!("{}\n\n{}\n", rates::LEGEND, table.markdown());
        }
        if let Some(table) = qualities::table(&self.outcome.records) {
            text += &format!("{}\n\n{}\n", qualities::LEGEND, table.markdown());
        }
        if let Some(table) = aims::table(self.group.aims, &self.outcome.records) {
            text += &format!("{}\n\n{}\n", aims::LEGEND, table.markdown());
        }
        if let Some(table) = means::table(self.group, &self.outcome.records) {
            text += &format!("{}\n\n{}\n", means::LEGEND, table.markdown());
        }
        for (file, caption) in plots {
            text += &format!("![{caption}]({file})\n\n{caption}\n\n");
        }
        text += &format!("## All parties\n\n{}\n\n{}\n", self.legend(), self.detail().markdown());
        let remarks = self.remarks();
        if !remarks.is_empty() {
            text += &format!("## Flagged, skipped and slower\n\n{}\n", list(&remarks));
        }
        text += &format!("## Conditions\n\n{}", list(&self.facts()));
        text
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

    /// A line for each case: CladTorch beside the fastest of the others.
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

fn list(lines: &[String]) -> String {
    lines.iter().map(|line| format!("- {line}\n")).collect()
}
