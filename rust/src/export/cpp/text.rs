//! Names and numbers as C++ writes them.

use std::path::Path;

use crate::gradient::literal;

/// Numbers of an array in a line.
const LINE: usize = 10;
/// Names that a namespace cannot have: keywords, macros that compilers define, and what the header itself uses; functions that
/// the C library declares beside a user's names.
const TAKEN: &str = "alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t \
    class co_await co_return co_yield compl concept const consteval constexpr constinit const_cast continue decltype \
    default delete do double dynamic_cast else enum explicit export extern false float for friend goto if inline int \
    linux long mutable namespace new noexcept not not_eq nullptr operator or or_eq private protected public register \
    reinterpret_cast requires return short signed sizeof static static_assert static_cast std struct switch template \
    this thread_local throw true try typedef typeid typename union unix unsigned using virtual void volatile wchar_t \
    while xor xor_eq main posix \
    abs acos acosh asin asinh atan atan2 atanh cabs carg cbrt ceil cexp cimag clog conj copysign cos cosh cpow creal csqrt \
    ctanh div drem erf erfc exp exp2 expm1 fabs fdim floor fma fmax fmin fmod frexp gamma hypot ilogb j0 j1 jn ldexp \
    lgamma log log10 log1p log2 logb lrint lround modf nan nearbyint nextafter pow remainder remquo rint round scalb \
    scalbn significand sin sinh sqrt tan tanh tgamma trunc y0 y1 yn index rindex memcpy strlen malloc free rand random \
    system abort exit signal raise time clock select read write open close link unlink wait sleep pause kill access dup \
    pipe stat send bind listen connect accept remove rename printf scanf";

/// For the header at `path`: its name without the ending, as far as C++ allows it.
pub fn namespace(path: &Path) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let mut name = String::new();
    for each in stem.chars() {
        let each = if each.is_ascii_alphanumeric() { each } else { '_' };
        // Two underscores together belong to the compiler.
        if each != '_' || !name.ends_with('_') {
            name.push(each);
        }
    }
    let name = name.trim_matches('_');
    let begins = name.starts_with(|each: char| each.is_ascii_alphabetic());
    match begins && !TAKEN.split_whitespace().any(|taken| taken == name) {
        true => name.to_owned(),
        false if name.is_empty() => "model".to_owned(),
        false => format!("model_{name}"),
    }
}

/// A literal that the compiler reads as exactly this number.
pub fn number(value: f32) -> String {
    literal("float", value.into(), format!("{value:?}f"))
}

/// A constant array of these numbers.
pub fn array(name: &str, values: &[f32]) -> String {
    let lines = values.chunks(LINE).map(|line| line.iter().map(|&value| number(value)).collect::<Vec<_>>().join(", "));
    let lines: Vec<String> = lines.collect();
    format!("inline constexpr float {name}[] = {{\n   {}}};\n\n", lines.join(",\n   "))
}

/// The same of places, -1 for none.
pub fn places(name: &str, values: impl Iterator<Item = Option<usize>>) -> String {
    let values: Vec<String> = values.map(|place| place.map_or("-1".to_owned(), |at| at.to_string())).collect();
    let lines: Vec<String> = values.chunks(2 * LINE).map(|line| line.join(", ")).collect();
    format!("inline constexpr std::ptrdiff_t {name}[] = {{\n   {}}};\n\n", lines.join(",\n   "))
}

/// A string literal; characters that are not plain text become octal escapes.
pub fn string(text: &str) -> String {
    let mut literal = String::from("\"");
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' | b'?' => literal.extend(['\\', byte as char]),
            b' '..=b'~' => literal.push(byte as char),
            _ => literal += &format!("\\{byte:03o}"),
        }
    }
    literal + "\""
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_namespace_is_a_name_of_cpp() {
        for (path, name) in [
            ("higgs.hxx", "higgs"),
            ("a/b/gw-net.v2.hpp", "gw_net_v2"),
            ("2024.h", "model_2024"),
            ("class.hxx", "model_class"),
            ("std.hxx", "model_std"),
            ("signal.hxx", "model_signal"),
            ("__x__y.hxx", "x_y"),
            ("µ.hxx", "model"),
            ("a\"};\nint main.hxx", "a_int_main"),
        ] {
            assert_eq!(namespace(Path::new(path)), name, "{path}");
        }
    }

    #[test]
    fn numbers_come_back_from_their_text() {
        for value in [0.1, -0.0, 1e-45, f32::MIN_POSITIVE, f32::MAX, 16_777_217.0, 1.0 / 3.0] {
            let text = number(value);
            assert_eq!(text.trim_end_matches('f').parse::<f32>().unwrap().to_bits(), value.to_bits(), "{text}");
            assert!(text.contains(['.', 'e']), "{text} is no number of C++");
        }
        assert_eq!(string("a\"\\?\n\u{e9}1"), r#""a\"\\\?\012\303\2511""#);
    }
}
