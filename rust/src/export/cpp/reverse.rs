//! The reverse pass of a header: the pullbacks of a program's nodes, from the last to the first. The adjoint of the value `v3` is the
//! array `d3`, that of the event `dx`; all begin with zeros, and each pullback adds to those of what its node reads.

use super::nodes::{NARROW, Writer, steps};
use crate::error::Result;
use crate::gradient::{Body, Nest, by_name, emit};
use crate::graph::View;
use crate::graph::program::{Gather, Node, Origin, Primitive, Product, Tensor, Ties};
use crate::kernels::strided::Convolution;

impl Writer<'_> {
    /// The adjoints of the nodes that are `due`, and their pullbacks.
    pub(super) fn pull_back(&mut self, due: &[(usize, &Node)]) -> Result<()> {
        let program = &self.plan.program;
        let active: Vec<bool> = program.buffers.iter().map(|buffer| buffer.active).collect();
        let length = program.buffers[program.arguments[0].buffer].length;
        emit!(self.network.adjoints, "   {}float dx[{length}];", self.storage);
        emit!(self.network.pullback, "   Zero({length}, dx);");
        let pulled: Vec<(usize, &Node)> = due.iter().copied().filter(|(_, node)| active[node.buffer]).collect();
        for &(index, node) in &pulled {
            let length = program.buffers[node.buffer].length;
            emit!(self.network.adjoints, "   {}float d{index}[{length}];", self.storage);
            emit!(self.network.pullback, "   Zero({length}, d{index});");
        }
        let result = self.plan.result();
        if let Some(to) = self.adjoint(result, &active) {
            let nest = Nest::new(&result.view.sizes, &[result]);
            let add = format!("{to}[{}] += seed[{}];", nest.index(0), nest.index(1));
            self.network.pullback += &nest.text("", &[], &add, &[]);
        }
        for &(index, node) in pulled.iter().rev() {
            self.pull_back_node(index, node, &active)?;
        }
        Ok(())
    }

    /// The adjoint of an operand; none: it does not depend on the event, or in steps alone.
    fn adjoint(&self, operand: &Tensor, active: &[bool]) -> Option<String> {
        let origin = &self.plan.program.buffers[operand.buffer].origin;
        match origin {
            _ if !active[operand.buffer] => None,
            Origin::Node(index) => Some(format!("d{index}")),
            _ => Some("dx".to_owned()),
        }
    }

    fn pull_back_node(&mut self, index: usize, node: &Node, active: &[bool]) -> Result<()> {
        let given = |writer: &Self, at: usize| writer.adjoint(&node.operands[at], active);
        match &node.primitive {
            Primitive::Map(_) => self.pull_back_loop(index, node, active),
            Primitive::Product(product) => self.pull_back_product(index, node, product, active),
            Primitive::Convolve(convolution) => self.pull_back_convolution(index, node, convolution, active)?,
            Primitive::Gather(gather) => self.pull_back_gather(index, node, gather, active)?,
            Primitive::Sum(target) => self.add_to(&node.operands[0], active, target, &format!("d{index}")),
            Primitive::Concat { places, .. } => {
                for (operand, place) in node.operands.iter().zip(places) {
                    self.add_to(operand, active, place, &format!("d{index}"));
                }
            }
            Primitive::Max { columns, ties } => {
                let even = matches!(ties, Ties::Even | Ties::EvenNan);
                let last = *ties == Ties::First;
                let lost = *ties == Ties::Even;
                let call = format!("MaxPullback<{columns}, {even}, {last}, {lost}>");
                self.pull_back_rows(index, node, active, &call);
            }
            Primitive::Length(columns) => {
                self.pull_back_rows(index, node, active, &format!("LengthPullback<{columns}>"));
            }
            Primitive::Softmax { columns, side, logarithm } => {
                let length: usize = node.shape.iter().product();
                let matrices = length / (columns * side).max(1);
                emit!(
                    self.network.pullback,
                    "   SoftmaxPullback<{columns}, {side}, {logarithm}>({matrices}, v{index}, d{index});"
                );
                self.add_to(&node.operands[0], active, &View::contiguous(&node.shape), &format!("d{index}"));
            }
            Primitive::Normalise { columns, eps } => {
                if given(self, 1).or(given(self, 2)).is_some() {
                    return Err(self.plan.refuse(node, "has scales that depend on the event: no gradient in a header"));
                }
                if let Some(to) = given(self, 0) {
                    let rows = node.shape.iter().product::<usize>() / (*columns).max(1);
                    let [x, w] = [0, 1].map(|at| self.variable(node.operands[at].buffer));
                    emit!(
                        self.network.pullback,
                        "   NormalisePullback<{columns}>({rows}, {eps:?}, {x}, {w}, d{index}, {to});"
                    );
                }
            }
            _ => return Err(self.plan.refuse(node, "has no gradient in a header")),
        }
        Ok(())
    }

    /// To the adjoint of an operand the elements of `from` in this view.
    fn add_to(&mut self, operand: &Tensor, active: &[bool], view: &View, from: &str) {
        let Some(to) = self.adjoint(operand, active) else { return };
        let place = Tensor { view: view.clone(), ..operand.clone() };
        let nest = Nest::new(&operand.view.sizes, &[operand, &place]);
        let inside = format!("{to}[{}] += {from}[{}];", nest.index(0), nest.index(1));
        self.network.pullback += &nest.text("", &[], &inside, &[]);
    }

    /// The pullback of a function of each row: `call` gets the rows one after the other and returns their adjoints.
    fn pull_back_rows(&mut self, index: usize, node: &Node, active: &[bool], call: &str) {
        let operand = &node.operands[0];
        let (length, rows) = (operand.view.len(), node.shape.iter().product::<usize>());
        emit!(self.network.adjoints, "   {}float r{index}[{length}], a{index}[{length}];", self.storage);
        let place = View::contiguous(&operand.view.sizes);
        let from = self.variable(operand.buffer);
        let dense = Tensor { view: place.clone(), ..operand.clone() };
        let nest = Nest::new(&operand.view.sizes, &[operand, &dense]);
        let inside = format!("r{index}[{}] = {from}[{}];", nest.index(1), nest.index(0));
        self.network.pullback += &nest.text("", &[], &inside, &[]);
        emit!(self.network.pullback, "   {call}({rows}, r{index}, v{index}, d{index}, a{index});");
        self.add_to(operand, active, &place, &format!("a{index}"));
    }

    /// The pullback of a loop over element-wise functions: by Clad's derivative of each, in the reverse order.
    fn pull_back_loop(&mut self, index: usize, node: &Node, active: &[bool]) {
        let Body { leaves, text, result, steps, .. } = Body::new(&self.plan.program, &self.groups, index, by_name);
        let wanted: Vec<usize> = (0..leaves.len()).filter(|&leaf| active[leaves[leaf].buffer]).collect();
        let parameters: Vec<String> = (0..leaves.len()).map(|leaf| format!("T x{leaf}")).collect();
        let adjoints: Vec<String> = wanted.iter().map(|leaf| format!("T &d_x{leaf}")).collect();
        let mut inside = text.replace("   T t", "   [[maybe_unused]] const T t");
        let is_wanted =
            |operand: &str| operand.starts_with('t') || wanted.iter().any(|leaf| operand == format!("x{leaf}"));
        for step in 0..steps.len() {
            let start = if format!("t{step}") == result { "seed" } else { "0" };
            emit!(inside, "   [[maybe_unused]] T d_t{step} = {start};");
        }
        emit!(inside, "   [[maybe_unused]] T rest = 0; // of what does not depend on the event");
        for (step, (function, operands)) in steps.iter().enumerate().rev().filter(|(_, (f, _))| f.is_differentiable()) {
            let name = function.name();
            if let [operand] = &operands[..] {
                if is_wanted(operand) {
                    emit!(inside, "   d_{operand} += {name}_pushforward({operand}, d_t{step}).pushforward;");
                }
                continue;
            }
            let to = |operand: &String| if is_wanted(operand) { format!("&d_{operand}") } else { "&rest".to_owned() };
            let to: Vec<String> = operands.iter().map(to).collect();
            emit!(inside, "   {name}_pullback({}, d_t{step}, {});", operands.join(", "), to.join(", "));
        }
        let [parameters, adjoints] = [parameters, adjoints].map(|list| list.join(", "));
        emit!(
            self.network.functions,
            "inline void p{index}({parameters}, [[maybe_unused]] T seed, {adjoints})\n{{\n{inside}}}"
        );
        let nest = Nest::new(&node.shape, &leaves);
        let mut arguments: Vec<String> = leaves
            .iter()
            .enumerate()
            .map(|(leaf, tensor)| format!("{}[{}]", self.variable(tensor.buffer), nest.index(leaf)))
            .collect();
        arguments.push(format!("d{index}[{}]", nest.index(leaves.len())));
        arguments.extend(wanted.iter().map(|leaf| format!("g{leaf}")));
        let declared: Vec<String> = wanted.iter().map(|leaf| format!("g{leaf} = 0")).collect();
        let mut inside = format!("T {};\np{index}({});\n", declared.join(", "), arguments.join(", "));
        for &leaf in &wanted {
            let to = self.adjoint(leaves[leaf], active).unwrap_or_default();
            emit!(inside, "{to}[{}] += g{leaf};", nest.index(leaf));
        }
        self.network.pullback += &nest.text("", &[], inside.trim_end(), &[]);
    }

    fn pull_back_product(&mut self, index: usize, node: &Node, product: &Product, active: &[bool]) {
        let [x, w] = [&node.operands[0], &node.operands[1]];
        let &Product { m, n, k, ref batches } = product;
        let [x_row, x_column] = steps(x);
        let to = [x, w].map(|operand| self.adjoint(operand, active));
        if self.is_layer(node, product) {
            if let [Some(dx), _] = to {
                // Back through a layer of many outputs by the sums of a narrow one, and the other way round.
                let function = if n < NARROW { "Layer" } else { "NarrowLayer" };
                let dx = format!("{dx} + {} + i * {x_row}", x.view.offset);
                emit!(
                    self.network.pullback,
                    "   for (size_t i = 0; i < {m}; ++i)\n      {function}<{n}, {k}>(d{index} + i * {n}, w{index}, {dx}, {dx});"
                );
            }
            return;
        }
        let [w_row, w_column] = steps(w);
        let names = [x, w].map(|operand| self.variable(operand.buffer));
        for (number, [a, b]) in batches.iter().enumerate() {
            let dy = format!("d{index} + {}", number * m * n);
            if let Some(dx) = &to[0] {
                let call = format!("{dy}, {n}, 1, {} + {b}, {w_column}, {w_row}", names[1]);
                emit!(self.network.pullback, "   AddTo({m}, {k}, {n}, {call}, {dx} + {a}, {x_row}, {x_column});");
            }
            if let Some(dw) = &to[1] {
                let call = format!("{} + {a}, {x_column}, {x_row}, {dy}, {n}, 1", names[0]);
                emit!(self.network.pullback, "   AddTo({k}, {n}, {m}, {call}, {dw} + {b}, {w_row}, {w_column});");
            }
        }
        if let Some(start) = node.operands.get(2) {
            self.add_to(start, active, &View::contiguous(&node.shape), &format!("d{index}"));
        }
    }

    fn pull_back_convolution(&mut self, index: usize, node: &Node, c: &Convolution, active: &[bool]) -> Result<()> {
        let [to, weights] = [0, 1].map(|at| self.adjoint(&node.operands[at], active));
        if weights.is_some() {
            return Err(self.plan.refuse(node, "has weights that depend on the event: no gradient in a header"));
        }
        if let Some(to) = to {
            let w = self.variable(node.operands[1].buffer);
            let &Convolution { events, groups, inputs, outputs, taps, dilation, length } = c;
            let sizes = [events, groups, inputs, outputs, taps, dilation, length].map(|size| size.to_string());
            emit!(self.network.pullback, "   ConvolutionPullback<{}>(d{index}, {w}, {to});", sizes.join(", "));
        }
        if let Some(bias) = node.operands.get(2) {
            self.add_to(bias, active, &View::contiguous(&node.shape), &format!("d{index}"));
        }
        Ok(())
    }

    fn pull_back_gather(&mut self, index: usize, node: &Node, gather: &Gather, active: &[bool]) -> Result<()> {
        let [source, chosen] = [&node.operands[0], &node.operands[1]];
        let Some(to) = self.adjoint(source, active) else { return Ok(()) };
        if !self.plan.is_event(chosen.buffer) {
            let length: usize = node.shape.iter().product();
            emit!(
                self.network.pullback,
                "   for (size_t i = 0; i < {length}; ++i)\n      if (g{index}[i] >= 0)\n         {to}[g{index}[i]] += d{index}[i];"
            );
            return Ok(());
        }
        let nest = Nest::new(&node.shape, &[source, chosen]);
        let places = self.variable(chosen.buffer);
        let place = format!("Bounded<{}>({places}[{}], {})", gather.from_end, nest.index(1), gather.size);
        let inside = format!("{to}[{} + {place} * {}] += d{index}[{}];", nest.index(0), gather.stride, nest.index(2));
        self.network.pullback += &nest.text("", &[], &inside, &[]);
        Ok(())
    }
}
