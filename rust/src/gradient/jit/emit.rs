//! A [`Program`] as one C++ function, readable: each step a small function with the shapes as constants, the whole a
//! sequence of calls, which Clad differentiates into the reverse sequence of their pullbacks.
//!
//! - Neighbouring element-by-element nodes become one loop over a scalar function, whose derivative Clad makes.
//! - Everything else calls the library's kernels, through their table, forward and in its pullback.
//! - In the function that Clad differentiates the steps are empty: their values are those that the forward call left in
//!   the arena. Clad's answer calls them all again, then the pullbacks in reverse order.

use super::super::buffer_assignment::{BufferAssignment, Location};
use super::super::reverse::{Pullback, Reverse};
use super::lines::{emit, line};
use crate::error::{Error, Result};
use crate::graph::program::{Node, Origin, Primitive};
use crate::graph::{DType, Function, Program, View};
use crate::kernels::strided::StridedView;

mod fusion;
mod kernels;
mod loops;

pub(crate) use fusion::{Body, Group, by_name, groups};
pub(crate) use loops::Nest;

/// The text of the function for `program`, `name` in its comments, and the buffers whose adjoints it finds zero; `operators`
/// names the observed operators.
pub fn emit(
    program: &Program,
    assignment: &BufferAssignment,
    name: &str,
    operators: &[String],
) -> Result<(String, Vec<usize>)> {
    let mut emitter =
        Emitter { program, assignment, operators, steps: String::new(), calls: String::new(), requests: String::new() };
    let groups = groups(program);
    // What is loaded is read by the library, before the function runs.
    let is_step =
        |&index: &usize| groups[index] == Group::Root && !matches!(program.nodes[index].primitive, Primitive::Load(_));
    let steps: Vec<usize> = (0..program.nodes.len()).filter(is_step).collect();
    let body = |&index: &usize| match program.nodes[index].primitive {
        Primitive::Map(_) => Some(Body::new(program, &groups, index, in_kernels)),
        _ => None,
    };
    let bodies: Vec<Option<Body>> = steps.iter().map(body).collect();
    let pullbacks: Vec<Pullback> =
        steps.iter().zip(&bodies).map(|(&index, body)| pullback(&program.nodes[index], body.as_ref())).collect();
    let reverse = Reverse::new(program, &pullbacks);
    for ((&index, body), begins) in steps.iter().zip(&bodies).zip(&reverse.steps) {
        match body {
            Some(body) => emitter.fused(index, body, begins),
            None => emitter.kernel(index, begins)?,
        }
    }
    Ok((emitter.whole(name)?, reverse.zero))
}

/// An operator as Clad finds the rules for it.
fn in_kernels(function: Function, operands: &[String]) -> String {
    match function {
        Function::Relu => format!("op::ReluOf({}, T(0))", operands[0]),
        _ => format!("op::{}", by_name(function, operands)),
    }
}

/// The pullback of a step that is a node, or a loop that ends with it.
fn pullback<'a>(node: &'a Node, body: Option<&Body<'a>>) -> Pullback<'a> {
    match body {
        Some(Body { leaves, .. }) => {
            Pullback { value: node.buffer, operands: leaves.clone(), stores: vec![true; leaves.len()] }
        }
        None => Pullback::of(node),
    }
}

struct Emitter<'a> {
    program: &'a Program,
    assignment: &'a BufferAssignment,
    operators: &'a [String],
    /// The steps' functions and pullbacks.
    steps: String,
    /// The whole function's body.
    calls: String,
    /// Further requests to Clad.
    requests: String,
}

impl Emitter<'_> {
    /// The variable that points to a buffer.
    fn variable(&self, buffer: usize) -> String {
        match self.program.buffers[buffer].origin {
            Origin::Argument(index) => argument_name(self.program, index),
            Origin::Literal(_) => format!("constant{buffer}"),
            Origin::Node(index) => format!("v{index}"),
        }
    }

    /// Whether Clad hands the adjoint of this buffer to pullbacks: of all that lies in the arena, and of active arguments.
    fn has_adjoint(&self, buffer: usize) -> bool {
        match self.assignment.values[buffer] {
            Location::Arena(_) => true,
            Location::Caller(_) => self.program.buffers[buffer].active,
        }
    }

    fn type_of(&self, buffer: usize) -> &'static str {
        match self.program.buffers[buffer].origin {
            Origin::Argument(index) if self.program.arguments[index].dtype == DType::Int64 => "int64_t",
            _ => "T",
        }
    }

    fn comment(&self, node: &Node) -> String {
        let operator = self.operators.get(node.observed).map_or("", String::as_str);
        format!("{:?} {operator}", node.shape)
    }

    /// The functions of a step: `step` runs it, `saved_step` stands for it where Clad differentiates.
    fn step(&mut self, index: usize, operands: &[usize], body: &str, pullback: &str) {
        let node = &self.program.nodes[index];
        let mut distinct: Vec<usize> = operands.to_vec();
        distinct.sort_unstable();
        distinct.dedup();
        let names: Vec<String> = distinct.iter().map(|&buffer| self.variable(buffer)).collect();
        let value = self.variable(node.buffer);
        let of = |buffer: &usize, name: &String| format!("const {} *{name}", self.type_of(*buffer));
        let mut parameters: Vec<String> = distinct.iter().zip(&names).map(|(b, n)| of(b, n)).collect();
        parameters.push(format!("T *{value}"));
        let mut adjoints: Vec<String> = distinct
            .iter()
            .zip(&names)
            .filter(|(buffer, _)| self.has_adjoint(**buffer))
            .map(|(_, name)| format!("T *_d_{name}"))
            .collect();
        adjoints.push(format!("T *_d_{value}"));
        let (comment, parameters, adjoints) = (self.comment(node), parameters.join(", "), adjoints.join(", "));
        emit!(
            self.steps,
            "// {value}: {comment}\nnamespace {{\nCT_FLAT_LOOP inline int step_{index}({parameters})\n{{\n{body}   return 1;\n}}"
        );
        emit!(self.steps, "inline void saved_{index}({parameters}) {{}}\n}} // namespace");
        emit!(
            self.steps,
            "namespace clad::custom_derivatives {{\nCT_FLAT_LOOP inline void saved_{index}_pullback({parameters}, {adjoints})\n{{\n{pullback}}}\n}} // namespace clad::custom_derivatives\n"
        );
        let arguments = names.iter().chain([&value]).cloned().collect::<Vec<_>>().join(", ");
        emit!(self.calls, "   CALL({index}, {arguments}); // {comment}");
    }

    /// Sets a buffer's adjoint to zero.
    fn zeros(&self, text: &mut String, buffer: usize) {
        let length = self.program.buffers[buffer].length;
        line(text, format_args!("   fill(_d_{}, {length}, 0);", self.variable(buffer)));
    }

    fn view(&mut self, name: &str, view: &View) -> Result<()> {
        let view: StridedView = view.strided()?;
        emit!(self.steps, "const ct_view {name} = {};", view.text());
        Ok(())
    }

    /// The steps, the function that runs them, the one that Clad differentiates, and the way in.
    fn whole(self, name: &str) -> Result<String> {
        let program = self.program;
        let (scalar, short) = if program.dtype == DType::Float32 { ("float", "f32") } else { ("double", "f64") };
        let mut parameters = Vec::new();
        let mut arguments = Vec::new();
        let mut wanted = Vec::new();
        let mut gradients = Vec::new();
        for index in 0..program.arguments.len() {
            let buffer =
                program.buffers.iter().position(|buffer| matches!(buffer.origin, Origin::Argument(i) if i == index));
            let buffer = buffer.ok_or_else(|| Error::Internal("an argument without a buffer".into()))?;
            let is_read = program.nodes.iter().any(|node| {
                !matches!(node.primitive, Primitive::Load(_))
                    && node.operands.iter().any(|operand| operand.buffer == buffer)
            });
            if !is_read {
                continue;
            }
            let (name, kind) = (argument_name(program, index), self.type_of(buffer));
            parameters.push(format!("const {kind} *{name}"));
            arguments.push(format!("static_cast<const {kind} *>(inputs[{index}])"));
            if program.buffers[buffer].active {
                gradients.push(format!("static_cast<T *>(gradients[{index}])"));
                wanted.push(name);
            }
        }
        parameters.push("T *arena".to_owned());
        wanted.push("arena".to_owned());
        gradients.push("adjoints".to_owned());
        let (parameters, arguments) = (parameters.join(", "), joined(&arguments, "arena"));
        let mut text = String::new();
        emit!(text, "// What the back end jit runs for {}.", name.replace(['\n', '\r', '\\'], " "));
        emit!(text, "#include \"elementwise.hpp\"\n#include \"jit.hpp\"\n\nusing T = {scalar};\n\nnamespace {{");
        // Not by using-declarations, through which Clad does not find the rules in jit.hpp.
        emit!(text, "namespace op = ::CladTorch::Kernels;");
        emit!(text, "const ct_kernels_{short} *gKernels; // the library's");
        emit!(
            text,
            "inline void fill(T *to, size_t n, T value)\n{{\n   for (size_t i = 0; i < n; ++i)\n      to[i] = value;\n}}\n}} // namespace\n"
        );
        text.push_str(&self.steps);
        let values = self.values();
        emit!(
            text,
            "namespace {{\n#define CALL(STEP, ...) if (!step_##STEP(__VA_ARGS__)) return STEP + 1\n\n/// Runs every step; the number of one that failed, counted from 1, or 0.\nint run({parameters})\n{{\n{values}{}   return 0;\n}}",
            self.calls
        );
        emit!(
            text,
            "#undef CALL\n#define CALL(STEP, ...) saved_##STEP(__VA_ARGS__)\n\n/// The same steps, run before: what Clad differentiates.\nT saved({parameters})\n{{\n{values}{}   return 0;\n}}\n",
            self.calls
        );
        emit!(text, "[[maybe_unused]] void requests()\n{{\n{}}}\n}} // namespace\n", self.requests);
        emit!(
            text,
            "CT_EXPORT void cladtorch_bind(const void *kernels)\n{{\n   gKernels = static_cast<const ct_kernels_{short} *>(kernels);\n}}\n"
        );
        emit!(
            text,
            "CT_EXPORT int cladtorch_forward([[maybe_unused]] const void *const *inputs, T *arena)\n{{\n   return run({arguments});\n}}\n"
        );
        emit!(
            text,
            "CT_EXPORT void cladtorch_backward([[maybe_unused]] const void *const *inputs, T *arena, T *adjoints, [[maybe_unused]] void *const *gradients)\n{{\n   auto reverse = clad::gradient(saved, \"{}\");\n   reverse.execute({arguments}, {});\n}}",
            wanted.join(", "),
            gradients.join(", ")
        );
        Ok(text)
    }

    /// A pointer for every value in the arena.
    fn values(&self) -> String {
        let mut text = String::new();
        for (buffer, place) in self.assignment.values.iter().enumerate() {
            let is_used = self
                .program
                .nodes
                .iter()
                .any(|node| node.buffer == buffer || node.operands.iter().any(|operand| operand.buffer == buffer));
            if let (Location::Arena(start), true) = (place, is_used) {
                emit!(text, "   [[maybe_unused]] T *{} = arena + {start};", self.variable(buffer));
            }
        }
        text
    }
}

fn joined(first: &[String], last: &str) -> String {
    first.iter().map(String::as_str).chain([last]).collect::<Vec<_>>().join(", ")
}

/// The user's name where it is one for C++ too.
fn argument_name(program: &Program, index: usize) -> String {
    let name: String = program.arguments[index].name.chars().filter(|c| c.is_ascii_alphanumeric()).collect();
    if name.is_empty() { format!("in{index}") } else { format!("in{index}_{name}") }
}

fn number(value: f64) -> String {
    literal("T", value, format!("T({value:?})"))
}

/// A number of C++'s type `of`, which is `finite` unless there is no such literal.
pub(crate) fn literal(of: &str, value: f64, finite: String) -> String {
    if value.is_nan() {
        format!("std::numeric_limits<{of}>::quiet_NaN()")
    } else if value.is_infinite() {
        format!("{}std::numeric_limits<{of}>::infinity()", if value < 0.0 { "-" } else { "" })
    } else {
        finite
    }
}
