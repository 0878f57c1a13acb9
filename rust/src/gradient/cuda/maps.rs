//! Element-wise operators: a chain of them is one kernel, and one for each adjoint that others share places in.

use super::super::jit::{Body, emit};
use super::super::reverse::Begin;
use super::places::at;
use super::program::Launch;
use super::put::Target;
use super::writer::{Draft, Work, Writer};
use crate::graph::program::{Node, Tensor};

impl Writer<'_> {
    /// The chain that ends with a node.
    pub fn map(&mut self, node: &Node, body: &Body) -> Vec<Launch> {
        let mut draft = Draft::default();
        let count = node.shape.iter().product();
        if count == 0 {
            return Vec::new();
        }
        let reads = self.leaves(&mut draft, &body.leaves);
        let to = draft.write(self.slot(node.buffer));
        let Body { text, result, .. } = body;
        emit!(draft.body, "   Each(Index({count}), [=](Index i) {{\n{reads}{text}   {to}[i] = {result};\n   }});");
        vec![self.launch(draft, Work::Alone(count))]
    }

    /// The values that the chain reads for element `i`, each as a variable.
    fn leaves(&self, draft: &mut Draft, leaves: &[&Tensor]) -> String {
        let mut text = String::new();
        for (leaf, tensor) in leaves.iter().enumerate() {
            let from = self.operand(draft, tensor);
            emit!(text, "   const T x{leaf} = {from}[{}];", at(&tensor.view, "i"));
        }
        text
    }

    /// Its pullback; `begins` is that of each leaf.
    pub fn map_pullback(&mut self, node: &Node, body: &Body, begins: &[Option<Begin>]) -> Vec<Launch> {
        let count: usize = node.shape.iter().product();
        let active: Vec<usize> = (0..begins.len()).filter(|&leaf| begins[leaf].is_some()).collect();
        let Some(seed) = self.adjoint(node.buffer) else { return Vec::new() };
        // Adjoints without shared places, of different buffers, are written by one kernel.
        let times = |buffer: usize| active.iter().filter(|&&leaf| body.leaves[leaf].buffer == buffer).count();
        let is_alone = |leaf: &usize| {
            let tensor = body.leaves[*leaf];
            count > 0 && tensor.view.is_injective() && times(tensor.buffer) == 1
        };
        let (alone, others): (Vec<usize>, Vec<usize>) = active.iter().copied().partition(is_alone);
        let mut launches = Vec::new();
        if !alone.is_empty() {
            let mut draft = Draft::default();
            let mut inside = self.leaves(&mut draft, &body.leaves);
            let from = draft.read(seed);
            inside += &reversed(body, &active, &format!("{from}[i]"));
            for &leaf in &alone {
                let target = self.target(body.leaves[leaf], begins[leaf]);
                launches.extend(self.begin(&target));
                let to = draft.write(target.slot);
                emit!(inside, "   Put<{}>({to}[{}], d_x{leaf});", target.adds(), at(target.view, "i"));
            }
            emit!(draft.body, "   Each(Index({count}), [=](Index i) {{\n{inside}   }});");
            launches.push(self.launch(draft, Work::Alone(count)));
        }
        for leaf in others {
            let mut draft = Draft::default();
            let mut inside = self.leaves(&mut draft, &body.leaves);
            let from = draft.read(seed);
            inside += &reversed(body, &[leaf], &format!("{from}[i]"));
            emit!(draft.body, "   const auto term = [=](Index i) -> T {{\n{inside}   return d_x{leaf};\n   }};");
            let target = self.target(body.leaves[leaf], begins[leaf]);
            launches.extend(self.put(draft, target));
        }
        launches
    }

    /// The adjoint of an operand that has one.
    pub fn target<'v>(&self, operand: &'v Tensor, begin: Option<Begin>) -> Target<'v> {
        let slot = self.adjoint(operand.buffer).expect("an adjoint that begins has a place");
        let begin = begin.expect("the adjoint begins");
        Target { slot, view: &operand.view, length: self.program.buffers[operand.buffer].length, begin }
    }
}

/// Statements: the chain again, then the adjoints `d_x` of the wanted leaves from that of its value, by Clad's
/// derivative of each operator in the reverse order.
fn reversed(body: &Body, wanted: &[usize], seed: &str) -> String {
    let Body { text, result, steps, .. } = body;
    let mut inside = text.replace("   T t", "   [[maybe_unused]] const T t");
    for step in 0..steps.len() {
        let start = if format!("t{step}") == *result { seed } else { "0" };
        emit!(inside, "   [[maybe_unused]] T d_t{step} = {start};");
    }
    let declared: Vec<String> = wanted.iter().map(|leaf| format!("d_x{leaf} = 0")).collect();
    emit!(inside, "   [[maybe_unused]] T rest = 0; // of what nobody asks for\n   T {};", declared.join(", "));
    let is_wanted = |operand: &str| operand.starts_with('t') || wanted.iter().any(|leaf| operand == format!("x{leaf}"));
    for (step, (function, operands)) in steps.iter().enumerate().rev().filter(|(_, (f, _))| f.is_differentiable()) {
        let name = function.name();
        match &operands[..] {
            [operand] if is_wanted(operand) => {
                emit!(inside, "   d_{operand} += {name}_pushforward({operand}, d_t{step}).pushforward;");
            }
            [_] => (),
            _ => {
                let to = |operand: &String| if is_wanted(operand) { format!("&d_{operand}") } else { "&rest".into() };
                let to: Vec<String> = operands.iter().map(to).collect();
                emit!(inside, "   {name}_pullback({}, d_t{step}, {});", operands.join(", "), to.join(", "));
            }
        }
    }
    inside
}
