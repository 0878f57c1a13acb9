//! Text for people: names from files, and messages that contain them, without characters that control a terminal.

use std::fmt::Write as _;

/// Characters of a name, and of a message, that are shown; the middle of a longer one is left out.
const LONGEST_NAME: usize = 500;
const LONGEST_MESSAGE: usize = 16_000;
/// Items of a list that are shown.
const MOST_ITEMS: usize = 100;
/// Prefix of the further lines of a message, so that none can pass for a message of its own.
const INDENT: &str = "   ";

/// `text` on one line, with every control character and every invisible character escaped: a name of a column, a tree
/// or a file, an option.
pub fn name(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    cut(text, LONGEST_NAME).chars().for_each(|each| push(&mut shown, each));
    shown
}

/// `text` as [`name`] shows it, except that its lines stay; those after the first are indented.
pub fn message(text: &str) -> String {
    let mut shown = String::with_capacity(text.len());
    let text = cut(text.trim_end_matches('\n'), LONGEST_MESSAGE);
    for (number, line) in text.split('\n').enumerate() {
        if number > 0 {
            shown.push('\n');
            shown.push_str(if line.is_empty() || line.starts_with(INDENT) { "" } else { INDENT });
        }
        line.chars().for_each(|each| if each == '\t' { shown.push(each) } else { push(&mut shown, each) });
    }
    shown
}

/// `value` with the digits that it needs, and with an exponent if these are many.
pub fn number(value: f64) -> String {
    match value == 0.0 || !value.is_finite() || (1e-5..1e9).contains(&value.abs()) {
        true => value.to_string(),
        false => format!("{value:e}"),
    }
}

/// `items` as in `pt, eta, phi`, each as [`name`] shows it; of many items, the first and the last ones.
pub fn list(items: impl ExactSizeIterator<Item: AsRef<str>>, separator: &str) -> String {
    let (count, mut shown) = (items.len(), String::new());
    for (number, item) in items.enumerate() {
        if count > MOST_ITEMS && (MOST_ITEMS / 2..count - MOST_ITEMS / 2).contains(&number) {
            if number == MOST_ITEMS / 2 {
                let _ = write!(shown, "{separator}({} more)", count - MOST_ITEMS);
            }
            continue;
        }
        if number > 0 {
            shown += separator;
        }
        shown += &name(item.as_ref());
    }
    shown
}

fn push(shown: &mut String, each: char) {
    match is_shown(each) {
        true => shown.push(each),
        false => shown.extend(each.escape_default()),
    }
}

/// Whether a terminal draws the character and does nothing else. False for control characters, and for those that
/// change the direction of the text, separate lines, have no width, or are tags.
fn is_shown(each: char) -> bool {
    !each.is_control()
        && !matches!(each, '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{206f}')
        && !matches!(each, '\u{feff}' | '\u{fff9}'..='\u{fffb}' | '\u{e0000}'..='\u{e007f}')
}

/// At most about `most` characters of `text`: its beginning and its end.
fn cut(text: &str, most: usize) -> std::borrow::Cow<'_, str> {
    if text.len() <= most || text.chars().count() <= most {
        return text.into();
    }
    let (begin, end) = (text.chars().take(most / 2).collect::<String>(), text.char_indices().rev().nth(most / 2 - 1));
    let end = end.map_or("", |(at, _)| &text[at..]);
    format!("{begin} [{} characters left out] {end}", text.chars().count() - most).into()
}

/// A number that distinguishes texts (Fowler, Noll and Vo, FNV-1a).
pub fn checksum(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_steers_a_terminal_is_escaped_and_what_is_written_stays() {
        assert_eq!(name("m_bb [GeV] größer 光 e\u{301}"), "m_bb [GeV] größer 光 e\u{301}");
        assert_eq!(name("a\x1b[31m\x07b\nc\td\u{9b}e\u{202e}f"), "a\\u{1b}[31m\\u{7}b\\nc\\td\\u{9b}e\\u{202e}f");
        for each in (0..=char::MAX as u32).filter_map(char::from_u32) {
            let shown = name(&each.to_string());
            assert!(!shown.chars().any(char::is_control) && !shown.is_empty(), "{:?}", each);
            assert!(!message(&each.to_string()).contains('\x1b'));
        }
    }

    #[test]
    fn a_line_of_a_message_cannot_pass_for_another_message() {
        assert_eq!(message("bad\nError in <x>: gone\n\n   kept\n"), "bad\n   Error in <x>: gone\n\n   kept");
        assert_eq!(message(&message("a\nb")), message("a\nb"));
        assert_eq!(message("a\rb"), "a\\rb");
    }

    #[test]
    fn long_texts_and_lists_are_cut() {
        let long = "é".repeat(100_000);
        for (shown, most) in [(name(&long), LONGEST_NAME), (message(&long), LONGEST_MESSAGE)] {
            let count = shown.chars().count();
            assert!(count > most && count < most + 50 && shown.contains("characters left out"), "{count}");
        }
        let sizes: Vec<_> = (0..1_000_000).map(|size| size.to_string()).collect();
        let shown = list(sizes.iter(), "-");
        assert!(shown.starts_with("0-1-2-") && shown.ends_with("-999998-999999") && shown.contains("-(999900 more)-"));
        assert!(shown.len() < 1000);
        assert_eq!(list(["pt", "e\x07"].iter(), ", "), "pt, e\\u{7}");
    }
}
