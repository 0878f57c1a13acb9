//! The text of the kernels and of their derivatives, definition by definition: a header contains those that it uses.

use std::borrow::Cow;

/// In the order in which they include each other.
const HEADERS: [&str; 5] = [
    include_str!("../../../../cpp/kernels/exponential.hpp"),
    include_str!("../../../../cpp/kernels/activations.hpp"),
    include_str!("../../../../cpp/kernels/operators.hpp"),
    include_str!("../../../../cpp/kernels/order.hpp"),
    include_str!("kernels.hpp"),
];
/// The rules for Clad's text, and this text.
const PUSHFORWARDS: &str = include_str!("../../../../cpp/kernels/pushforwards.hpp");
const DERIVATIVES: &str = include_str!("../../../../cpp/kernels/generated/derivatives.hpp");
const BEGIN: &str = "namespace CladTorch::Kernels {\n";
const END: &str = "} // namespace CladTorch::Kernels";
/// A namespace inside of it is one definition.
const INNER_BEGIN: &str = "namespace Exponential {\n";
const INNER_END: &str = "} // namespace Exponential\n";

/// A definition with the comment above it.
struct Definition {
    name: &'static str,
    text: Cow<'static, str>,
}

/// All that `code` uses, and what that uses, in order.
pub fn used_by(code: &str) -> String {
    let definitions = definitions();
    let mut wanted = vec![false; definitions.len()];
    let mut due = vec![code];
    while let Some(code) = due.pop() {
        for (definition, wanted) in definitions.iter().zip(&mut wanted) {
            if !*wanted && words(code).any(|word| word == definition.name) {
                *wanted = true;
                due.push(&definition.text);
            }
        }
    }
    let used = definitions.iter().zip(wanted).filter(|(_, wanted)| *wanted);
    used.map(|(definition, _)| format!("{}\n\n", definition.text.trim())).collect()
}

fn definitions() -> Vec<Definition> {
    let mut definitions = Vec::new();
    for header in HEADERS {
        let Some((_, body)) = header.split_once(BEGIN) else { continue };
        let mut body = body.split_once(END).map_or(body, |(body, _)| body);
        if let (true, Some(length)) = (body.starts_with(INNER_BEGIN), body.find(INNER_END)) {
            let (inner, behind) = body.split_at(length + INNER_END.len());
            definitions.push(Definition { name: "Exponential", text: inner.into() });
            body = behind;
        }
        for text in body.split("\n\n").filter(|text| !text.trim().is_empty()) {
            definitions.push(Definition { name: name(text), text: text.into() });
        }
    }
    definitions.extend(derivatives());
    definitions
}

/// The derivatives of float32, as functions of one namespace: here nothing else has their names.
fn derivatives() -> impl Iterator<Item = Definition> {
    let is_rule = |text: &&str| text.contains("\ninline ") || text.contains("\nstruct ");
    let rules = PUSHFORWARDS.split("\n\n").filter(is_rule).map(|text| (name(text), text.to_owned()));
    let generated = DERIVATIVES.split_once(BEGIN).map_or("", |(_, body)| body.trim_start());
    let of_clad = generated.split("\n}\n").filter(|text| text.starts_with("inline ") && text.contains("(float "));
    let of_clad = of_clad.map(|text| (name(text), format!("{text}\n}}")));
    rules.chain(of_clad).map(|(name, text)| {
        let flat = ["clad::custom_derivatives::std::", "clad::custom_derivatives::", "CladTorch::Kernels::"];
        let text = flat.iter().fold(text, |text, qualifier| text.replace(qualifier, ""));
        Definition { name, text: text.replace("clad::ValueAndPushforward", "ValueAndPushforward").into() }
    })
}

/// Name of the function or class that a text defines.
fn name(text: &str) -> &str {
    if let Some((_, head)) = text.split_once("\nstruct ") {
        return head.split_once(' ').map_or("", |(name, _)| name);
    }
    let head = text.split_once("inline ").map_or("", |(_, head)| head);
    let head = head.split_once('(').map_or("", |(head, _)| head);
    head.rsplit(' ').next().unwrap_or("")
}

/// The identifiers of a text without its comments.
fn words(text: &str) -> impl Iterator<Item = &str> {
    let code = text.lines().map(|line| line.split_once("//").map_or(line, |(code, _)| code));
    code.flat_map(|line| line.split(|each: char| !each.is_ascii_alphanumeric() && each != '_'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::Function;

    #[test]
    fn every_function_and_every_kernel_is_found_by_its_name() {
        let definitions = definitions();
        for function in Function::ALL {
            let is_there = |name: String| definitions.iter().any(|definition| definition.name == name);
            assert!(is_there(function.name().into()), "{}", function.name());
            let rule = if function.arity() == 1 { "pushforward" } else { "pullback" };
            let derivative = format!("{}_{rule}", function.name());
            assert!(!function.is_differentiable() || is_there(derivative.clone()), "{derivative}");
        }
        for definition in &definitions {
            let text = &definition.text;
            assert!(!definition.name.is_empty(), "{text}");
            assert_eq!(text.matches('{').count(), text.matches('}').count(), "{text}");
        }
    }

    #[test]
    fn a_header_has_what_its_functions_use_and_nothing_else() {
        let found = |code: &str| {
            let text = used_by(code);
            let names: Vec<String> = definitions().iter().map(|each| each.name.to_owned()).collect();
            names.into_iter().filter(|each| text.contains(&format!("inline T {each}("))).collect::<Vec<_>>()
        };
        assert_eq!(found("y = Silu(x); // Tanh"), ["ExpInRange", "ExpOfAny", "Sigmoid", "Silu"]);
        assert!(used_by("ExpOfAny").contains("struct Reduced"));
        assert_eq!(found("Relu"), ["Relu"]);
        assert!(used_by("nothing").is_empty());
        let derivative = used_by("Silu_pushforward(x, 1)");
        for part in ["struct ValueAndPushforward", "Sigmoid_pushforward(z, _d_z);", "ExpOfAny_pushforward(T x, T d_x)"]
        {
            assert!(derivative.contains(part), "{part}");
        }
        assert!(!derivative.contains("(double ") && !derivative.contains("clad::"), "{derivative}");
    }
}
