//! A [`Program`] as one C++ function, readable: each step a small function with the shapes as constants, the whole a
//! sequence of calls, which Clad differentiates into the reverse sequence of their pullbacks.
//!
//! - Neighbouring element-by-element nodes become one loop over a scalar function, whose derivative Clad makes.
//! - Everything else calls the library's kernels, through their table, forward and in its pullback.
//! - In the function that Clad differentiates the steps are empty: their values are those that the forward call left in
//!   the arena. Clad's answer calls them all again, then the pullbacks in reverse order.

use std::collections::HashMap;
use std::fmt::Write;

use super::super::executor::{Layout, Place};
use crate::error::{Error, Result};
use crate::graph::program::{Node, Origin, Primitive, Tensor};
use crate::graph::{DType, Program, View};
use crate::kernels::strided::Stream;

/// Most operators in one loop, and most arrays it reads: beyond, registers run out.
const LONGEST_CHAIN: usize = 24;
const MOST_LEAVES: usize = 8;

/// The text of the function for `program`, `name` in its comments; `operators` names the observed operators.
pub fn emit(program: &Program, layout: &Layout, name: &str, operators: &[String]) -> Result<String> {
    let mut emitter =
        Emitter { program, layout, operators, steps: String::new(), calls: String::new(), requests: String::new() };
    let groups = groups(program);
    for (index, node) in program.nodes.iter().enumerate() {
        match (&node.primitive, &groups[index]) {
            // Read by the library, before the function runs.
            (Primitive::Load, _) | (_, Group::Inlined) => (),
            (Primitive::Map(_), Group::Root) => emitter.fused(index, &groups)?,
            _ => emitter.kernel(index)?,
        }
    }
    emitter.whole(name)
}

/// What becomes of a node.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Group {
    /// A function of its own.
    Root,
    /// Part of the loop of the one node that uses it.
    Inlined,
}

/// Which element-by-element nodes are computed inside the loop of their only user.
fn groups(program: &Program) -> Vec<Group> {
    let mut uses = vec![0; program.buffers.len()];
    let mut users = HashMap::new();
    for (index, node) in program.nodes.iter().enumerate() {
        for operand in &node.operands {
            uses[operand.buffer] += 1;
            users.insert(operand.buffer, (index, operand));
        }
    }
    program.outputs.iter().for_each(|output| uses[output.buffer] += 1);
    let mut groups = vec![Group::Root; program.nodes.len()];
    // From the last node on, so that the length of a loop is known to those who could join it.
    let mut lengths = vec![(1, 0); program.nodes.len()];
    for index in (0..program.nodes.len()).rev() {
        let node = &program.nodes[index];
        lengths[index].1 += node.operands.len();
        let Some(&(user, operand)) = users.get(&node.buffer) else { continue };
        let whole = operand.view.is_contiguous() && operand.view.sizes == node.shape;
        let both_map = [node, &program.nodes[user]].iter().all(|node| matches!(node.primitive, Primitive::Map(_)));
        let same = program.buffers[node.buffer].active == program.buffers[program.nodes[user].buffer].active;
        if uses[node.buffer] == 1 && whole && both_map && same {
            let root = root_of(user, &groups, &users, program);
            let (length, leaves) = (lengths[root].0 + 1, lengths[root].1 + node.operands.len() - 1);
            if length <= LONGEST_CHAIN && leaves <= MOST_LEAVES {
                groups[index] = Group::Inlined;
                lengths[root] = (length, leaves);
            }
        }
    }
    groups
}

fn root_of(mut index: usize, groups: &[Group], users: &HashMap<usize, (usize, &Tensor)>, program: &Program) -> usize {
    while groups[index] == Group::Inlined {
        index = users[&program.nodes[index].buffer].0;
    }
    index
}

struct Emitter<'a> {
    program: &'a Program,
    layout: &'a Layout,
    operators: &'a [String],
    /// The steps' functions and pullbacks.
    steps: String,
    /// The whole function's body.
    calls: String,
    /// What else Clad is asked for.
    requests: String,
}

/// A loop's body and what it reads.
#[derive(Default)]
struct Body<'a> {
    leaves: Vec<&'a Tensor>,
    text: String,
    variables: usize,
}

fn line(text: &mut String, line: std::fmt::Arguments) {
    // A String takes any text.
    let _ = writeln!(text, "{line}");
}

macro_rules! emit {
    ($text:expr, $($format:tt)*) => { line(&mut $text, format_args!($($format)*)) };
}

impl<'a> Emitter<'a> {
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
        match self.layout.values[buffer] {
            Place::Arena(_) => true,
            Place::Caller(_) => self.program.buffers[buffer].active,
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

    /// A node's expression inside a loop: a variable that holds its value.
    fn expression(&self, index: usize, groups: &[Group], body: &mut Body<'a>) -> String {
        let node = &self.program.nodes[index];
        let Primitive::Map(function) = node.primitive else { return String::new() };
        let operands: Vec<String> = node.operands.iter().map(|operand| self.operand(operand, groups, body)).collect();
        let variable = format!("t{}", body.variables);
        body.variables += 1;
        emit!(body.text, "   T {variable} = {}({});", function.name(), operands.join(", "));
        variable
    }

    fn operand(&self, operand: &'a Tensor, groups: &[Group], body: &mut Body<'a>) -> String {
        match &self.program.buffers[operand.buffer].origin {
            Origin::Node(index) if groups[*index] == Group::Inlined => return self.expression(*index, groups, body),
            Origin::Literal(values) if values.len() == 1 => return number(values[0]),
            _ => (),
        }
        let same = |leaf: &&Tensor| leaf.buffer == operand.buffer && leaf.view == operand.view;
        let position = body.leaves.iter().position(same).unwrap_or_else(|| {
            body.leaves.push(operand);
            body.leaves.len() - 1
        });
        format!("x{position}")
    }

    /// A loop over a scalar function.
    fn fused(&mut self, index: usize, groups: &[Group]) -> Result<()> {
        let node = &self.program.nodes[index];
        let mut body = Body::default();
        let result = self.expression(index, groups, &mut body);
        let Body { leaves, text, .. } = body;
        let names: Vec<String> = (0..leaves.len()).map(|leaf| format!("T x{leaf}")).collect();
        let is_active = |leaf: &usize| self.program.is_active(leaves[*leaf]);
        let active: Vec<usize> = if self.program.buffers[node.buffer].active {
            (0..leaves.len()).filter(is_active).collect()
        } else {
            Vec::new()
        };
        let parameters = joined(&names, "T seed");
        // Times a seed: a function of several numbers, which Clad differentiates in reverse.
        emit!(
            self.steps,
            "namespace {{\ninline T body_{index}({parameters})\n{{\n{text}   return seed * {result};\n}}"
        );
        if !active.is_empty() {
            let derived: String = active.iter().map(|leaf| format!("_{leaf}")).collect();
            let adjoints: Vec<String> = active.iter().map(|leaf| format!("T *_d_x{leaf}")).collect();
            emit!(self.steps, "void body_{index}_grad{derived}({parameters}, {}); // by Clad", adjoints.join(", "));
            let wanted: Vec<String> = active.iter().map(|leaf| format!("x{leaf}")).collect();
            emit!(self.requests, "   clad::gradient(body_{index}, \"{}\");", wanted.join(", "));
        }
        emit!(self.steps, "}} // namespace");
        let nest = Nest::new(&node.shape, &leaves);
        let forward = self.loop_forward(index, node, &leaves, &nest);
        let backward = self.loop_backward(index, node, &leaves, &active, &nest);
        let operands: Vec<usize> = leaves.iter().map(|leaf| leaf.buffer).collect();
        self.step(index, &operands, &forward, &backward);
        Ok(())
    }

    fn loop_forward(&self, index: usize, node: &Node, leaves: &[&Tensor], nest: &Nest) -> String {
        let reads: Vec<String> = leaves
            .iter()
            .enumerate()
            .map(|(i, leaf)| format!("{}[{}]", self.variable(leaf.buffer), nest.index(i)))
            .collect();
        let value = self.variable(node.buffer);
        nest.text(
            "CT_ELEMENTWISE",
            &[],
            &format!("{value}[{}] = body_{index}({});", nest.index(leaves.len()), joined(&reads, "1")),
            &[],
        )
    }

    fn loop_backward(&self, index: usize, node: &Node, leaves: &[&Tensor], active: &[usize], nest: &Nest) -> String {
        if active.is_empty() {
            return String::new();
        }
        let reads: Vec<String> = leaves
            .iter()
            .enumerate()
            .map(|(i, leaf)| format!("{}[{}]", self.variable(leaf.buffer), nest.index(i)))
            .collect();
        let derived: String = active.iter().map(|leaf| format!("_{leaf}")).collect();
        let value = self.variable(node.buffer);
        let (mut before, mut after) = (Vec::new(), Vec::new());
        let declared: Vec<String> = active.iter().map(|leaf| format!("d{leaf} = 0")).collect();
        let mut inside = format!("T {};\n", declared.join(", "));
        let addresses: Vec<String> = active.iter().map(|leaf| format!("&d{leaf}")).collect();
        let seed = format!("_d_{value}[{}]", nest.index(leaves.len()));
        emit!(inside, "body_{index}_grad{derived}({}, {seed}, {});", reads.join(", "), addresses.join(", "));
        for &leaf in active {
            let target = format!("_d_{}[{}]", self.variable(leaves[leaf].buffer), nest.index(leaf));
            if nest.is_inner_constant(leaf) {
                before.push(format!("T sum{leaf} = 0;"));
                inside.push_str(&format!("sum{leaf} += d{leaf};\n"));
                after.push(format!("{target} += sum{leaf};"));
            } else {
                inside.push_str(&format!("{target} += d{leaf};\n"));
            }
        }
        // Safe where no two adjoints are the same memory and no row of one overlaps itself.
        let mut buffers: Vec<usize> = active.iter().map(|&leaf| leaves[leaf].buffer).collect();
        buffers.sort_unstable();
        buffers.dedup();
        let safe = buffers.len() == active.len();
        nest.text(if safe { "CT_ELEMENTWISE" } else { "" }, &before, inside.trim_end(), &after)
    }

    /// A step that the library's kernels run.
    fn kernel(&mut self, index: usize) -> Result<()> {
        let node = &self.program.nodes[index];
        let value = self.variable(node.buffer);
        let names: Vec<String> = node.operands.iter().map(|operand| self.variable(operand.buffer)).collect();
        emit!(self.steps, "namespace {{");
        for (operand, tensor) in node.operands.iter().enumerate() {
            self.stream(&format!("view_{index}_{operand}"), &tensor.view)?;
        }
        let active: Vec<bool> = node.operands.iter().map(|operand| self.program.is_active(operand)).collect();
        let length = self.program.buffers[node.buffer].length;
        let view = |operand: usize| format!("&view_{index}_{operand}");
        let is_active = self.program.buffers[node.buffer].active;
        let (mut forward, mut backward) = (String::new(), String::new());
        let k = "gKernels";
        match &node.primitive {
            Primitive::Sum(target) => {
                self.stream(&format!("target_{index}"), target)?;
                let (x, count) = (&names[0], target.len());
                emit!(forward, "   fill({value}, {length}, 0);");
                emit!(forward, "   {k}->accumulate({count}, {x}, {}, {value}, &target_{index});", view(0));
                emit!(backward, "   {k}->accumulate({count}, _d_{value}, &target_{index}, _d_{x}, {});", view(0));
            }
            &Primitive::Greatest { columns, even } => {
                let (x, even) = (&names[0], u8::from(even));
                emit!(forward, "   {k}->greatest({length}, {columns}, {x}, {}, {value});", view(0));
                emit!(
                    backward,
                    "   {k}->greatest_pullback({even}, {length}, {columns}, {x}, {v}, {value}, _d_{value}, _d_{x}, {v});",
                    v = view(0)
                );
            }
            &Primitive::Softmax { columns, logarithm } => {
                let (x, logarithm, rows) = (&names[0], u8::from(logarithm), length.checked_div(columns).unwrap_or(0));
                emit!(forward, "   {k}->softmax({logarithm}, {rows}, {columns}, {x}, {}, {value});", view(0));
                emit!(
                    backward,
                    "   {k}->softmax_pullback({logarithm}, {rows}, {columns}, {value}, _d_{value}, _d_{x}, {});",
                    view(0)
                );
            }
            &Primitive::Normalise { columns, eps } => {
                let (x, w, b, rows) = (&names[0], &names[1], &names[2], length.checked_div(columns).unwrap_or(0));
                emit!(forward, "   {k}->normalise({rows}, {columns}, {eps:e}, {x}, {w}, {b}, {value});");
                if active[0] {
                    emit!(
                        backward,
                        "   {k}->normalise_pullback({rows}, {columns}, {eps:e}, {x}, {w}, _d_{value}, _d_{x});"
                    );
                }
                if active[1] {
                    emit!(
                        backward,
                        "   {k}->normalise_scale_pullback({rows}, {columns}, {eps:e}, {x}, _d_{value}, _d_{w});"
                    );
                }
                if active[2] {
                    self.stream(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
                    emit!(backward, "   {k}->accumulate({length}, _d_{value}, &dense_{index}, _d_{b}, {});", view(2));
                }
            }
            Primitive::Product(_) => self.product(index, &names, &active, &mut forward, &mut backward)?,
            Primitive::Gather(g) => {
                let (skips, skip) = (u8::from(g.skip.is_some()), g.skip.unwrap_or_default());
                let (from_end, size, stride) = (u8::from(g.from_end), g.size, g.stride);
                emit!(self.steps, "const ct_pick pick_{index} = {{{size}, {stride}, {from_end}, {skips}, {skip}}};");
                let (x, chosen) = (&names[0], &names[1]);
                emit!(
                    forward,
                    "   if (!{k}->choose(&pick_{index}, {length}, {x}, {}, {chosen}, {}, {value}))\n      return 0;",
                    view(0),
                    view(1)
                );
                emit!(
                    backward,
                    "   {k}->choose_pullback(&pick_{index}, {length}, _d_{value}, {chosen}, {}, _d_{x}, {});",
                    view(1),
                    view(0)
                );
            }
            Primitive::Assemble { fill, places } => {
                emit!(forward, "   fill({value}, {length}, {});", number(*fill));
                for (operand, place) in places.iter().enumerate() {
                    self.stream(&format!("place_{index}_{operand}"), place)?;
                    let (x, count, v) = (&names[operand], place.len(), view(operand));
                    emit!(forward, "   {k}->copy({count}, {x}, {v}, {value}, &place_{index}_{operand});");
                    if active[operand] {
                        emit!(
                            backward,
                            "   {k}->accumulate({count}, _d_{value}, &place_{index}_{operand}, _d_{x}, {v});"
                        );
                    }
                }
            }
            Primitive::Load | Primitive::Map(_) => return Err(Error::Internal("emitted elsewhere".into())),
        }
        emit!(self.steps, "}} // namespace");
        let operands: Vec<usize> = node.operands.iter().map(|operand| operand.buffer).collect();
        self.step(index, &operands, &forward, if is_active { &backward } else { "" });
        Ok(())
    }

    /// Products of matrices, a loop over the batch.
    fn product(
        &mut self,
        index: usize,
        names: &[String],
        active: &[bool],
        forward: &mut String,
        backward: &mut String,
    ) -> Result<()> {
        let node = &self.program.nodes[index];
        let Primitive::Product(product) = &node.primitive else { return Ok(()) };
        let (m, n, k, count) = (product.m, product.n, product.k, product.batches.len());
        let (value, area) = (self.variable(node.buffer), product.m * product.n);
        let starts: Vec<String> = product.batches.as_flattened().iter().map(usize::to_string).collect();
        emit!(self.steps, "const size_t starts_{index}[] = {{{}}};", joined(&starts, "0, 0"));
        let listed = |which: usize| format!("{{starts_{index} + {which}, 2}}");
        let every = format!("{{nullptr, {area}}}");
        let order = |operand: usize, transposed: bool| {
            let strides = &node.operands[operand].view.strides;
            let [row, column] = [strides[strides.len() - 2], strides[strides.len() - 1]];
            if transposed { format!("{{{column}, {row}}}") } else { format!("{{{row}, {column}}}") }
        };
        let dense = format!("{{{}, 1}}", n.max(1));
        let (a, b, c) = (&names[0], &names[1], &value);
        let (first, second) = (listed(0), listed(1));
        let head = format!("   gKernels->products({count}, ");
        let add = u8::from(names.len() == 3);
        if names.len() == 3 {
            self.stream(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
            let length = node.shape.iter().product::<usize>();
            emit!(*forward, "   gKernels->copy({length}, {}, &view_{index}_2, {value}, &dense_{index});", names[2]);
            if active[2] {
                let x = &names[2];
                emit!(
                    *backward,
                    "   gKernels->accumulate({length}, _d_{value}, &dense_{index}, _d_{x}, &view_{index}_2);"
                );
            }
        }
        emit!(
            *forward,
            "{head}{m}, {n}, {k}, {a}, {first}, {}, {b}, {second}, {}, {add}, {c}, {every}, {dense});",
            order(0, false),
            order(1, false)
        );
        if active[0] {
            let (plain, turned) = (order(0, false), order(1, true));
            emit!(
                *backward,
                "{head}{m}, {k}, {n}, _d_{c}, {every}, {dense}, {b}, {second}, {turned}, 1, _d_{a}, {first}, {plain});"
            );
        }
        if active[1] {
            let (plain, turned) = (order(1, false), order(0, true));
            emit!(
                *backward,
                "{head}{k}, {n}, {m}, {a}, {first}, {turned}, _d_{c}, {every}, {dense}, 1, _d_{b}, {second}, {plain});"
            );
        }
        Ok(())
    }

    fn stream(&mut self, name: &str, view: &View) -> Result<()> {
        let stream: Stream = view.stream()?;
        emit!(self.steps, "const ct_stream {name} = {};", stream.text());
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
                !matches!(node.primitive, Primitive::Load)
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
        emit!(text, "#define CT_USE(F) using ::CladTorch::Kernels::F;");
        emit!(text, "CT_UNARY(CT_USE) CT_BINARY(CT_USE) CT_FLAT(CT_USE) CT_TERNARY(CT_USE)");
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
        for (buffer, place) in self.layout.values.iter().enumerate() {
            let is_used = self
                .program
                .nodes
                .iter()
                .any(|node| node.buffer == buffer || node.operands.iter().any(|operand| operand.buffer == buffer));
            if let (Place::Arena(start), true) = (place, is_used) {
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
    if value.is_nan() {
        "std::numeric_limits<T>::quiet_NaN()".to_owned()
    } else if value.is_infinite() {
        format!("{}std::numeric_limits<T>::infinity()", if value < 0.0 { "-" } else { "" })
    } else {
        format!("T({value:?})")
    }
}

/// Loops over a shape, dimensions joined where all operands allow it; the last operand is the dense value.
struct Nest {
    sizes: Vec<usize>,
    offsets: Vec<usize>,
    strides: Vec<Vec<usize>>,
}

impl Nest {
    fn new(shape: &[usize], leaves: &[&Tensor]) -> Self {
        let dense = View::contiguous(shape);
        let views: Vec<&View> = leaves.iter().map(|leaf| &leaf.view).chain([&dense]).collect();
        let mut nest = Nest {
            sizes: Vec::new(),
            offsets: views.iter().map(|view| view.offset).collect(),
            strides: vec![Vec::new(); views.len()],
        };
        for dim in (0..shape.len()).filter(|&dim| shape[dim] != 1) {
            let joins = !nest.sizes.is_empty()
                && nest.strides.iter().zip(&views).all(|(s, view)| s.last() == Some(&(view.strides[dim] * shape[dim])));
            if joins {
                *nest.sizes.last_mut().expect("not empty") *= shape[dim];
            } else {
                nest.sizes.push(shape[dim]);
            }
            for (strides, view) in nest.strides.iter_mut().zip(&views) {
                if joins {
                    strides.pop();
                }
                strides.push(view.strides[dim]);
            }
        }
        nest
    }

    /// Where an operand's element is, in the loops' variables.
    fn index(&self, operand: usize) -> String {
        let mut terms = Vec::new();
        for (dim, &stride) in self.strides[operand].iter().enumerate().filter(|(_, stride)| **stride > 0) {
            terms.push(if stride == 1 { format!("i{dim}") } else { format!("i{dim} * {stride}") });
        }
        if self.offsets[operand] > 0 || terms.is_empty() {
            terms.push(self.offsets[operand].to_string());
        }
        terms.join(" + ")
    }

    /// Whether the operand does not change in the innermost loop.
    fn is_inner_constant(&self, operand: usize) -> bool {
        self.strides[operand].last().is_some_and(|&stride| stride == 0)
    }

    /// The loops around `inside`; `before` and `after` stand around the innermost one.
    fn text(&self, pragma: &str, before: &[String], inside: &str, after: &[String]) -> String {
        let mut text = String::from("   {\n");
        let Some((last, outer)) = self.sizes.split_last() else {
            emit!(text, "{inside}\n   }}");
            return text;
        };
        for (dim, size) in outer.iter().enumerate() {
            emit!(text, "   for (size_t i{dim} = 0; i{dim} < {size}; ++i{dim}) {{");
        }
        let inner = outer.len();
        before.iter().for_each(|line| emit!(text, "   {line}"));
        if !pragma.is_empty() {
            emit!(text, "   {pragma}");
        }
        emit!(text, "   for (size_t i{inner} = 0; i{inner} < {last}; ++i{inner}) {{\n{inside}\n   }}");
        after.iter().for_each(|line| emit!(text, "   {line}"));
        text.push_str(&"   }\n".repeat(outer.len() + 1));
        text
    }
}
