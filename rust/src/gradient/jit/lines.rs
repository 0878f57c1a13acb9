//! C++ text, line by line.

use std::fmt::{Arguments, Write};

/// Adds a line to a text.
macro_rules! emit {
    ($text:expr, $($format:tt)*) => { $crate::gradient::line(&mut $text, format_args!($($format)*)) };
}
pub(crate) use emit;

pub(crate) fn line(text: &mut String, line: Arguments) {
    // A String takes any text.
    let _ = writeln!(text, "{line}");
}
