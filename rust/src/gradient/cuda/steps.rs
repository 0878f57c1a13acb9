//! The whole of a program: every step forward, and every pullback.

use std::cell::Cell;

use super::super::buffer_assignment::{BufferAssignment, Location};
use super::super::jit::{Body, Group, by_name, emit, groups};
use super::super::reverse::{Begin, Pullback, Reverse};
use super::gpu::Gpu;
use super::multiply::{MatrixProduct, Numbers};
use super::own::Own;
use super::places::at;
use super::program::{CudaProgram, Launch, Slot, Step};
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::error::{Error, Result};
use crate::graph::outputs::dependents;
use crate::graph::program::{Digits, Node, Origin, Primitive};
use crate::graph::{CustomActivation, Program, View};

impl CudaProgram {
    /// Of kernels alone. Refuses operators without one, by name.
    pub fn new(program: &Program) -> Result<Self> {
        write(program, Numbers::Float, &|_| false)
    }

    /// The same, but a device's library runs the products that it `multiplies`, and takes factors in float32 as `floats` says.
    pub fn multiplying(
        program: &Program,
        floats: Numbers,
        multiplies: &dyn Fn(&MatrixProduct) -> bool,
    ) -> Result<Self> {
        write(program, floats, multiplies)
    }

    /// The same for that GPU, whose library runs large products.
    pub fn on(program: &Program, floats: Numbers, gpu: &Gpu) -> Result<Self> {
        let obstacle = Cell::new(None);
        let multiplies = |product: &MatrixProduct| {
            if !product.is_large() {
                return false;
            }
            let refused = gpu.obstacle(product);
            let is_taken = refused.is_none();
            // A product whose bias is refused is asked for again without it.
            if !is_taken && product.bias.is_none() {
                obstacle.set(refused);
            }
            is_taken
        };
        let made = Self::multiplying(program, floats, &multiplies)?;
        Ok(CudaProgram { obstacle: obstacle.take(), ..made })
    }
}

fn write(program: &Program, floats: Numbers, multiplies: &dyn Fn(&MatrixProduct) -> bool) -> Result<CudaProgram> {
    let layout = BufferAssignment::apart(program);
    let groups = groups(program);
    let steps: Vec<usize> = (0..program.nodes.len()).filter(|&index| groups[index] == Group::Root).collect();
    let body = |&index: &usize| match program.nodes[index].primitive {
        Primitive::Map(_) => Some(Body::new(program, &groups, index, by_name)),
        _ => None,
    };
    let bodies: Vec<Option<Body>> = steps.iter().map(body).collect();
    let pullbacks: Vec<Pullback> = steps
        .iter()
        .zip(&bodies)
        .map(|(&index, body)| match body {
            Some(Body { leaves, .. }) => Pullback {
                value: program.nodes[index].buffer,
                operands: leaves.clone(),
                stores: vec![true; leaves.len()],
            },
            None => Pullback::of(&program.nodes[index]),
        })
        .collect();
    let reverse = Reverse::new(program, &pullbacks);
    let mut writer = Writer::new(program, &layout, floats, multiplies);
    (writer.adjoints, writer.scratch) = reverse.places(program, &pullbacks);
    let mut forward = Vec::new();
    for (&index, body) in steps.iter().zip(&bodies) {
        let node = &program.nodes[index];
        forward.extend(match body {
            Some(body) => writer.map(node, body),
            None => writer.node(node)?,
        });
    }
    for (index, output) in program.outputs.iter().enumerate() {
        let view = View::contiguous(&output.view.sizes);
        let target = Target { slot: Slot::Output(index), view: &view, length: view.len(), begin: Begin::Store };
        forward.extend(writer.copy(writer.slot(output.buffer), &output.view, target));
    }
    let flags = writer.clear_flags();
    forward.splice(0..0, flags);
    let zero = zeros(&mut writer, &reverse.zero);
    let seeds = (0..program.results().len()).map(|output| writer.seed(output)).collect();
    let dependents = dependents(program, program.results());
    let mut backward = Vec::new();
    let all = steps.iter().zip(&bodies).zip(pullbacks.iter().zip(&reverse.steps));
    for ((&index, body), (pullback, begins)) in all.rev().filter(|(_, (_, begins))| begins.iter().any(Option::is_some))
    {
        let node = &program.nodes[index];
        let launches = match body {
            Some(body) => writer.map_pullback(node, body, begins),
            None => writer.node_pullback(node, begins)?,
        };
        let begun = pullback.operands.iter().zip(begins).filter(|(_, begin)| begin.is_some_and(|b| b != Begin::Add));
        let begun: Vec<usize> = begun.map(|(operand, _)| operand.buffer).collect();
        backward.push(Step { dependents: dependents[node.buffer], launches, unreached: zeros(&mut writer, &begun) });
    }
    let literal = |(buffer, place): (usize, &Location)| match (&program.buffers[buffer].origin, place) {
        (Origin::Literal(values), &Location::Arena(start)) => Some((start, values.to_vec())),
        _ => None,
    };
    let literals = layout.values.iter().enumerate().filter_map(literal).collect();
    let adjoints = writer.scratch + writer.most_scratch;
    let (flags, kernels) = (std::mem::take(&mut writer.flags), writer.kernels());
    Ok(CudaProgram {
        kernels,
        forward,
        zero,
        seeds,
        backward,
        literals,
        values: layout.length,
        adjoints,
        flags,
        obstacle: None,
    })
}

/// Begins these adjoints with zeros.
fn zeros(writer: &mut Writer, buffers: &[usize]) -> Vec<Launch> {
    let mut launches = Vec::new();
    for &buffer in buffers {
        if let Some(slot) = writer.adjoint(buffer) {
            launches.extend(writer.fill(slot, writer.program.buffers[buffer].length, "0"));
        }
    }
    launches
}

impl Writer<'_> {
    /// Sets all flags to 0.
    fn clear_flags(&mut self) -> Option<Launch> {
        let count = self.flags.len();
        let mut draft = Draft::default();
        let flags = draft.other("int32_t *", Slot::Flag(0));
        emit!(draft.body, "   Each(Index({count}), [=](Index i) {{ {flags}[i] = 0; }});");
        (count > 0).then(|| self.launch(draft, Work::Alone(count)))
    }

    /// Launches that add the adjoint of a user's output to that of its buffer.
    fn seed(&mut self, output: usize) -> Vec<Launch> {
        let tensor = &self.program.outputs[output];
        match self.adjoint(tensor.buffer) {
            Some(_) if self.program.buffers[tensor.buffer].active => {
                let target = self.target(tensor, Some(Begin::Add));
                self.copy(Slot::Seed(output), &View::contiguous(&tensor.view.sizes), target)
            }
            _ => Vec::new(),
        }
    }

    pub fn refuse(&self, node: &Node, why: &str) -> Error {
        Error::invalid(format!("{} has no kernel on back end cuda: {why}", node.primitive.name()), "run it on LibTorch")
    }

    /// A node that is not a chain of element-wise operators.
    fn node(&mut self, node: &Node) -> Result<Vec<Launch>> {
        let whole = View::contiguous(&node.shape);
        let value = |begin: Begin| Target { slot: self.slot(node.buffer), view: &whole, length: whole.len(), begin };
        Ok(match &node.primitive {
            Primitive::Map(_) => return Err(Error::Internal("a map that is no chain".into())),
            &Primitive::Load(digits) => {
                let mut draft = Draft::default();
                let from = self.operand(&mut draft, &node.operands[0]);
                let element = format!("{from}[{}]", at(&node.operands[0].view, "i"));
                let number = self.number(node, digits, &element);
                emit!(draft.body, "   const auto term = [=](Index i) -> T {{ return {number}; }};");
                self.put(draft, value(Begin::Store))
            }
            Primitive::Sum(view) => {
                let target = Target { view, ..value(Begin::Zero) };
                self.copy(self.slot(node.operands[0].buffer), &node.operands[0].view, target)
            }
            Primitive::Concat { fill, places } => {
                let placed: usize = places.iter().map(View::len).sum();
                let target = value(Begin::Store);
                let mut launches = Vec::new();
                if placed != target.length {
                    let number = super::super::jit::literal("T", *fill, format!("T({fill:?})"));
                    launches = self.fill(target.slot, target.length, &number);
                }
                for (operand, place) in node.operands.iter().zip(places).filter(|(_, place)| !place.is_empty()) {
                    let target =
                        Target { slot: self.slot(node.buffer), view: place, length: whole.len(), begin: Begin::Store };
                    launches.extend(self.copy(self.slot(operand.buffer), &operand.view, target));
                }
                launches
            }
            Primitive::Max { .. } | Primitive::Length(_) | Primitive::Softmax { .. } | Primitive::Normalise { .. } => {
                self.rows(node)?
            }
            Primitive::Moments(channels) => self.moments(node, channels)?,
            Primitive::Standardise { channels, eps } => self.standardise(node, channels, *eps)?,
            Primitive::Product(product) => self.product(node, product)?,
            Primitive::Convolve(convolution) => self.convolve(node, convolution),
            Primitive::Argsort(ranking) => self.argsort(node, ranking),
            Primitive::Gather(gather) => self.gather(node, gather),
            Primitive::Scatter(scatter) => self.scatter(node, scatter),
            Primitive::Custom(function) => {
                let value = value(Begin::Store);
                self.put(self.custom(node, function, None), value)
            }
            Primitive::Linear(_) | Primitive::Round(_) | Primitive::Pack(_) | Primitive::Unpack(_) => {
                return Err(self.refuse(node, "packed matrices are the host's"));
            }
        })
    }

    /// `term(i)` is a user's function at element `i` of the operand; with a `seed`, its derivative there times the seed's element.
    fn custom(&self, node: &Node, function: &CustomActivation, seed: Option<Slot>) -> Draft {
        let Own { space, before, .. } = Own::of(function);
        let mut draft = Draft::default();
        let x = self.operand(&mut draft, &node.operands[0]);
        let x = format!("double({x}[{}])", at(&node.operands[0].view, "i"));
        let term = match seed.map(|seed| draft.read(seed)) {
            None => format!("{space}::activation({x})"),
            Some(seed) => format!("double({seed}[i]) * {space}::activation_darg0({x})"),
        };
        emit!(draft.body, "   const auto term = [=](Index i) -> T {{ return T({term}); }};");
        draft.before = before;
        draft
    }

    /// An element of an argument as a number.
    fn number(&self, node: &Node, digits: Digits, element: &str) -> String {
        let is_integer = node.operands[0].kind == crate::graph::program::Kind::Index;
        match digits {
            Digits::All if is_integer => format!("T(double({element}))"),
            Digits::All => format!("T({element})"),
            Digits::Top => format!("T({element} >> 44)"),
            Digits::Middle => format!("T({element} >> 22 & {})", (1 << 22) - 1),
            Digits::Bottom => format!("T({element} & {})", (1 << 22) - 1),
        }
    }

    /// Its pullback; `begins` is that of each operand.
    fn node_pullback(&mut self, node: &Node, begins: &[Option<Begin>]) -> Result<Vec<Launch>> {
        let Some(seed) = self.adjoint(node.buffer) else { return Ok(Vec::new()) };
        let mut launches = Vec::new();
        for (operand, &begin) in begins.iter().enumerate().filter(|(_, begin)| begin.is_some()) {
            let target = self.target(&node.operands[operand], begin);
            let whole = View::contiguous(&node.shape);
            launches.extend(match (&node.primitive, operand) {
                (Primitive::Sum(view), _) => self.copy(seed, view, target),
                (Primitive::Custom(function), _) => self.put(self.custom(node, function, Some(seed)), target),
                (Primitive::Concat { places, .. }, _) => self.copy(seed, &places[operand], target),
                (Primitive::Normalise { .. } | Primitive::Product(_) | Primitive::Convolve(_), 2) => {
                    self.copy(seed, &whole, target)
                }
                (Primitive::Scatter(_), 2) => self.copy(seed, &whole, target),
                (Primitive::Product(product), _) => self.product_pullback(node, product, operand, seed, target)?,
                (Primitive::Convolve(convolution), _) => {
                    self.convolve_pullback(node, convolution, operand, seed, target)
                }
                (Primitive::Gather(gather), _) => self.gather_pullback(node, gather, seed, target),
                (Primitive::Scatter(scatter), _) => self.scatter_pullback(node, scatter, seed, target),
                (Primitive::Standardise { channels, eps }, _) => {
                    self.standardise_pullback(node, channels, *eps, operand, seed, target)?
                }
                _ => self.rows_pullback(node, operand, seed, target)?,
            });
        }
        Ok(launches)
    }
}
