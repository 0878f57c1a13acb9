//! The parts of a report, and how Markdown writes them; `page` writes them as HTML.

use super::chart::Chart;
use super::table::Table;

/// Blocks under a heading; the first section has none.
pub struct Section {
    pub heading: Option<&'static str>,
    pub blocks: Vec<Block>,
}

pub enum Block {
    /// A paragraph, with code between backticks.
    Text(String),
    Table(Table),
    List(Vec<String>),
    Chart(Chart),
}

/// A report under `title`; charts are files beside it.
pub fn markdown(title: &str, sections: &[Section]) -> String {
    let mut text = format!("# {title}\n\n");
    for section in sections {
        text += &section.heading.map(|heading| format!("## {heading}\n\n")).unwrap_or_default();
        for block in &section.blocks {
            text += &match block {
                Block::Text(paragraph) => format!("{paragraph}\n\n"),
                Block::Table(table) => format!("{}\n", table.markdown()),
                Block::List(lines) => lines.iter().map(|line| format!("- {line}\n")).collect::<String>() + "\n",
                Block::Chart(chart) => format!("![{0}]({1}.svg)\n\n{0}\n\n", chart.caption, chart.name),
            };
        }
    }
    text
}

/// All charts of a report.
pub fn charts(sections: &[Section]) -> impl Iterator<Item = &Chart> {
    sections.iter().flat_map(|section| &section.blocks).filter_map(|block| match block {
        Block::Chart(chart) => Some(chart),
        _ => None,
    })
}
