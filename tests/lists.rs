//! The lists of operators exist in three languages: they must agree on names and numbers.

#[path = "lists/architecture.rs"]
mod architecture;

use cladtorch::graph::{
    Activation, Function, Gradient, Init, Loss, NegativeWeights, Normalisation, Optimiser, Precision, Schedule,
};
use cladtorch::kernels::is_sign_activation;

const KERNELS: &str = include_str!("../cpp/kernels/kernels.h");
const MLP: &str = include_str!("../cpp/include/CladTorch/Mlp.hxx");
const OPTIONS: &str = include_str!("../cpp/include/CladTorch/FitOptions.hxx");

/// The members of `enum name { A = 0, ... }` in a header, in lower case without underscores and prefix.
fn members(header: &str, name: &str, prefix: &str) -> Vec<(String, usize)> {
    let (_, rest) = header.split_once(&format!("enum {name} {{")).expect("the enumeration is there");
    let (body, _) = rest.split_once('}').expect("it ends");
    let member = |line: &str| {
        let (name, number) = line.split_once('=')?;
        let number = number.trim().split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()?;
        Some((plain(name.trim().strip_prefix(prefix)?), number))
    };
    body.split([',', '\n']).filter_map(member).collect()
}

fn plain(name: &str) -> String {
    name.replace('_', "").to_lowercase()
}

fn listed(names: impl Iterator<Item = &'static str>, first: usize) -> Vec<(String, usize)> {
    names.enumerate().map(|(index, name)| (plain(name), index + first)).collect()
}

#[test]
fn activations_are_numbered_alike() {
    let ours = listed(Activation::ALL.iter().map(|a| a.name()), 0);
    assert_eq!(members(OPTIONS, "EActivation", "k"), ours);
    let inside = Activation::ALL.iter().filter(|&&activation| is_sign_activation(activation as u8)).count();
    assert_eq!(members(KERNELS, "ct_activation", "CT_"), ours[..inside]);
}

#[test]
fn losses_are_numbered_alike() {
    assert_eq!(members(KERNELS, "ct_loss", "CT_"), listed(Loss::ALL.iter().map(|l| l.name()), 0));
    let options = members(OPTIONS, "ELoss", "k");
    assert_eq!(options[0], ("auto".to_owned(), 0));
    assert_eq!(options[1..], listed(Loss::ALL.iter().map(|l| l.name()), 1));
}

#[test]
fn optimisers_and_initialisations_are_numbered_alike() {
    assert_eq!(members(OPTIONS, "EOptimiser", "k"), listed(Optimiser::ALL.iter().map(|o| o.name()), 0));
    assert_eq!(members(OPTIONS, "EInit", "k"), listed(Init::ALL.iter().map(|i| i.name()), 0));
    assert_eq!(members(MLP, "ENormalisation", "k")[1..], listed(Normalisation::ALL.iter().map(|n| n.name()), 0)[1..]);
    assert_eq!(members(OPTIONS, "ESchedule", "k"), listed(Schedule::ALL.iter().map(|s| s.name()), 0));
    assert_eq!(members(OPTIONS, "ENegativeWeights", "k"), listed(NegativeWeights::ALL.iter().map(|n| n.name()), 0));
    assert_eq!(members(OPTIONS, "EPrecision", "k"), listed(Precision::ALL.iter().map(|p| p.name()), 0));
    assert_eq!(members(OPTIONS, "EGradient", "k"), listed(Gradient::ALL.iter().map(|g| g.name()), 0));
}

/// The names that messages show are those that users type.
#[test]
fn enumerators_are_written_alike() {
    let in_options = |name: &str| OPTIONS.contains(&format!("   {name} = "));
    let all = Activation::ALL.iter().map(|each| each.enumerator());
    let all =
        all.chain(Loss::ALL.iter().map(|each| each.enumerator())).chain(Init::ALL.iter().map(|each| each.enumerator()));
    let all = all.chain(Optimiser::ALL.iter().map(|each| each.enumerator()));
    let all = all.chain(Schedule::ALL.iter().map(|each| each.enumerator()));
    let all = all.chain(NegativeWeights::ALL.iter().map(|each| each.enumerator()));
    let all = all.chain(Precision::ALL.iter().map(|each| each.enumerator()));
    for name in all.chain(Gradient::ALL.iter().map(|each| each.enumerator())) {
        assert!(in_options(name), "{name}");
    }
}

#[test]
fn scalar_functions_are_listed_alike() {
    const OPERATORS: &str = include_str!("../cpp/kernels/operators.hpp");
    let (_, lists) = OPERATORS.split_once("CT_UNARY(X) ").expect("the lists are there");
    let (lists, _) = lists.split_once("namespace").expect("they end");
    let names: Vec<&str> = lists.split("X(").skip(1).filter_map(|rest| rest.split(')').next()).collect();
    assert_eq!(names, Function::ALL.iter().map(|function| function.name()).collect::<Vec<_>>());
    let arities = [("CT_UNARY", 1), ("CT_BINARY", 2), ("CT_FLAT", 2), ("CT_TERNARY", 3)];
    for (list, arity) in arities {
        let (_, rest) = OPERATORS.split_once(&format!("#define {list}(X)")).expect("the list is there");
        let body = rest.split("\n\n").next().expect("it has a body");
        for function in Function::ALL.iter().filter(|function| body.contains(&format!("X({})", function.name()))) {
            assert_eq!(function.arity(), arity, "{}", function.name());
            assert_eq!(function.is_differentiable(), list != "CT_FLAT", "{}", function.name());
        }
    }
}

/// Functions that Python treats as long calls notice Ctrl-C in C++: they run in a LongCall.
#[test]
fn long_calls_hear_ctrl_c() {
    const CALLS: &str = include_str!("../cpp/src/python/calls.py");
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpp/src");
    let paths = |folder: &std::path::Path| -> Vec<_> {
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect()
    };
    let rooms = paths(&folder).into_iter().filter(|path| path.is_dir()).chain([folder.clone()]);
    let source: String = rooms
        .flat_map(|room| paths(&room))
        .filter(|path| path.extension().is_some_and(|extension| extension == "cxx"))
        .map(|path| std::fs::read_to_string(path).unwrap())
        .collect();
    let hears = |where_from: &str| source.contains(&format!("LongCall({where_from}"));
    let (_, list) = CALLS.split_once("LONG = {").expect("the list is there");
    let (list, _) = list.split_once("\n}\n").expect("it ends");
    let (mut owner, mut count) = ("", 0);
    for line in list.lines() {
        let (before, names) = line.split_once(": {").unwrap_or(("", line));
        owner = if before.is_empty() { owner } else { before.trim().trim_matches('"') };
        for name in names.split('"').skip(1).step_by(2) {
            let space = if owner == "CladTorch" { "" } else { "::" };
            let class = match owner {
                "CladTorch" => String::new(),
                "CoherentSearch" | "MatchedFilter" | "NetworkFilter" | "OnlineSearch" | "Whitener" => {
                    format!("Signal::{owner}")
                }
                _ => owner.to_owned(),
            };
            let full = match name {
                "__init__" => format!("\"CladTorch::{class}\""),
                _ => format!("\"CladTorch::{class}{space}{name}\""),
            };
            let by_where = format!("Where(\"{name}\")");
            let by_resume = "Where(path.empty() ? \"Fit\" : \"Resume\")".to_owned();
            let ways =
                [full.clone(), by_where, if matches!(name, "Fit" | "Resume") { by_resume } else { full.clone() }];
            assert!(ways.iter().any(|way| hears(way)), "{owner}.{name} does not hear Ctrl-C");
            count += 1;
        }
    }
    assert!(count > 80, "{count}");
}

/// Every class of the dictionary has a streamer that refuses.
#[test]
fn classes_of_the_dictionary_have_streamers() {
    const DICTIONARY: &str = include_str!("../cpp/LinkDef.h");
    const STREAMERS: &str = include_str!("../cpp/src/Streamers.cxx");
    let of = |text: &'static str, before: &'static str, after: &'static str| {
        let rest = |line: &'static str| line.strip_prefix(before)?.strip_suffix(after);
        let mut names: Vec<&str> = text.lines().filter_map(rest).collect();
        names.sort_unstable();
        names
    };
    let streamers = of(STREAMERS, "CLADTORCH_DICTIONARY(", ")");
    assert!(streamers.len() > 20, "{streamers:?}");
    assert_eq!(of(DICTIONARY, "#pragma link C++ class ", "-;"), streamers);
}

/// PyROOT's additions share one namespace: the later of two definitions of a name would replace the other.
#[test]
fn names_of_the_python_additions_are_their_own() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../cpp/src/python");
    let mut files: Vec<_> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|end| end == "py"));
    let texts: Vec<String> = files.iter().map(|path| std::fs::read_to_string(path).unwrap()).collect();
    let names = |text: &str| text.lines().filter_map(defined).map(str::to_owned).collect::<Vec<_>>();
    let mut all: Vec<String> = texts.iter().flat_map(|text| names(text)).collect();
    assert!(all.len() > 100 && names("def f(x):\n    y = 1\nA = 2\nf(A)\n") == ["f", "A"]);
    all.sort();
    let twice: Vec<_> = all.windows(2).filter(|pair| pair[0] == pair[1]).map(|pair| &pair[0]).collect();
    assert!(twice.is_empty(), "{twice:?}");
}

/// The name that a line of Python defines at module level.
fn defined(line: &str) -> Option<&str> {
    if let Some(rest) = line.strip_prefix("def ").or_else(|| line.strip_prefix("class ")) {
        return rest.split(['(', ':']).next();
    }
    let (name, _) = line.split_once(" = ")?;
    name.chars().all(|c| c.is_alphanumeric() || c == '_').then_some(name)
}
