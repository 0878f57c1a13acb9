//! Tables of text, for the screen, for Markdown and for HTML.

use super::chart::escape;

/// Rows of cells under a heading.
pub struct Table {
    rows: Vec<Vec<String>>,
    /// Columns from here on are numbers, right-aligned.
    numbers_from: usize,
}

impl Table {
    pub fn new(heading: &[&str], numbers_from: usize) -> Self {
        Self { rows: vec![heading.iter().map(ToString::to_string).collect()], numbers_from }
    }

    pub fn push(&mut self, row: Vec<String>) {
        self.rows.push(row);
    }

    /// Lines with a rule under the heading; a first cell that repeats the one above is left blank.
    pub fn screen(&self) -> String {
        let mut text = String::new();
        let widths = self.widths();
        for (index, row) in self.rows.iter().enumerate() {
            let repeats = index > 1 && row[0] == self.rows[index - 1][0];
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let cell = if column == 0 && repeats { "" } else { cell };
                self.padded(cell, column, widths[column])
            });
            text += cells.collect::<Vec<_>>().join("  ").trim_end();
            text.push('\n');
            if index == 0 {
                text += &"-".repeat(widths.iter().sum::<usize>() + 2 * (widths.len() - 1));
                text.push('\n');
            }
        }
        text
    }

    pub fn markdown(&self) -> String {
        let mut text = String::new();
        for (index, row) in self.rows.iter().enumerate() {
            text += &format!("| {} |\n", row.join(" | "));
            if index == 0 {
                let rule = (0..row.len()).map(|column| if column < self.numbers_from { "---" } else { "---:" });
                text += &format!("| {} |\n", rule.collect::<Vec<_>>().join(" | "));
            }
        }
        text
    }

    /// Marks of problems have the class `bad`.
    pub fn html(&self) -> String {
        let mut text = "<div class=\"wide\"><table>\n".to_owned();
        for (index, row) in self.rows.iter().enumerate() {
            let cells = row.iter().enumerate().map(|(column, cell)| {
                let kind = if index == 0 { "th" } else { "td" };
                let class = match cell.as_str() {
                    "MISSED" | "!" => " class=bad",
                    _ if column >= self.numbers_from => " class=n",
                    _ => "",
                };
                format!("<{kind}{class}>{}", escape(cell))
            });
            text += &format!("<tr>{}\n", cells.collect::<String>());
        }
        text + "</table></div>\n"
    }

    /// Without the heading.
    pub fn len(&self) -> usize {
        self.rows.len() - 1
    }

    fn widths(&self) -> Vec<usize> {
        let width = |column: usize| self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0);
        (0..self.rows[0].len()).map(width).collect()
    }

    fn padded(&self, cell: &str, column: usize, width: usize) -> String {
        if column < self.numbers_from { format!("{cell:<width$}") } else { format!("{cell:>width$}") }
    }
}

/// Three digits and a unit: `21.4 us`.
pub fn seconds(value: f64) -> String {
    let (scaled, unit) = match value.abs() {
        v if !v.is_finite() => return "-".to_owned(),
        v if v < 1e-6 => (value * 1e9, "ns"),
        v if v < 1e-3 => (value * 1e6, "us"),
        v if v < 1.0 => (value * 1e3, "ms"),
        _ => (value, "s"),
    };
    format!("{} {unit}", digits(scaled))
}

/// The same for a round number: `20 us`.
pub fn round_seconds(value: f64) -> String {
    seconds(value).replace(".00 ", " ").replace(".0 ", " ")
}

/// About three digits.
pub fn digits(value: f64) -> String {
    let decimals = match value.abs() {
        v if !v.is_finite() => return "-".to_owned(),
        v if v < 10.0 => 2,
        v if v < 100.0 => 1,
        _ => 0,
    };
    format!("{value:.decimals$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_readable() {
        assert_eq!(seconds(2.14e-5), "21.4 us");
        assert_eq!(seconds(0.25), "250 ms");
        assert_eq!((seconds(f64::NAN), digits(f64::NAN)), ("-".to_owned(), "-".to_owned()));
        assert_eq!([2e-5, 1e-3, 0.2].map(round_seconds), ["20 us", "1 ms", "200 ms"]);
    }

    #[test]
    fn numbers_are_set_to_the_right() {
        let mut table = Table::new(&["who", "n"], 1);
        table.push(vec!["a".into(), "10".into()]);
        assert_eq!(table.screen(), "who   n\n-------\na    10\n");
        assert_eq!(table.markdown(), "| who | n |\n| --- | ---: |\n| a | 10 |\n");
        let rows = "<tr><th>who<th class=n>n\n<tr><td>a<td class=n>10\n";
        assert_eq!(table.html(), format!("<div class=\"wide\"><table>\n{rows}</table></div>\n"));
    }
}
