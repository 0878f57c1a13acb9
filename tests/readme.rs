//! The README's examples are the files that `tests/root.rs` runs.

const README: &str = include_str!("../README.md");

fn shown(language: &str) -> &'static str {
    let (_, rest) = README.split_once(&format!("```{language}\n")).expect("the README has such an example");
    rest.split_once("```").expect("the example ends").0
}

#[test]
fn the_examples_are_those_that_are_run() {
    assert_eq!(shown("cpp"), include_str!("root/readme.C"));
    assert_eq!(shown("Cpp"), include_str!("root/readme_judge.C"));
    assert_eq!(shown("c++"), include_str!("root/readme_torch.C"));
    assert_eq!(shown("C++"), include_str!("root/readme_model.C"));
    assert_eq!(shown("CPP"), include_str!("root/readme_waves.C"));
    assert_eq!(shown("python"), include_str!("root/readme.py"));
}
