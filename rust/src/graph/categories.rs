//! Which features a network takes as whole numbers: categories, bins, places in a table.

use super::program::{Node, Origin, Primitive, Tensor};
use super::{Function, Program};

/// For each feature of an event whether its fraction is taken off before a result is computed of it, as `x.to(torch::kLong)` does.
/// What is computed of features element by element before that counts too; the results of other operators do not.
///
/// `program` computes `events` events; the features are its first argument.
pub fn whole_features(program: &Program, events: usize) -> Vec<bool> {
    let mut elements = Elements(program.buffers.iter().map(|buffer| vec![Use::default(); buffer.length]).collect());
    for output in &program.outputs {
        elements.mark(output, |_| Use { result: true, whole: false });
    }
    program.nodes.iter().rev().for_each(|node| elements.follow(node));
    let features = program.buffers.iter().zip(&elements.0).find(|(buffer, _)| buffer.origin == Origin::Argument(0));
    let Some((_, features)) = features else { return Vec::new() };
    let count = features.len() / events.max(1);
    (0..count).map(|feature| features.iter().skip(feature).step_by(count).any(|element| element.whole)).collect()
}

/// How an element of a buffer is used.
#[derive(Clone, Copy, Default)]
struct Use {
    /// A result.
    result: bool,
    /// A whole number, element by element.
    whole: bool,
}

/// Of each buffer, those of its elements.
struct Elements(Vec<Vec<Use>>);

impl Elements {
    /// Marks the elements of a tensor, each by its number.
    fn mark(&mut self, tensor: &Tensor, of: impl Fn(usize) -> Use) {
        for (index, offset) in tensor.view.offsets().enumerate() {
            let (all, one) = (&mut self.0[tensor.buffer][offset], of(index));
            *all = Use { result: all.result || one.result, whole: all.whole || one.whole };
        }
    }

    /// From the elements of a node's value to those that they are computed from.
    fn follow(&mut self, node: &Node) {
        let value = std::mem::take(&mut self.0[node.buffer]);
        if !value.iter().any(|element| element.result) {
            return;
        }
        let cuts = node.primitive == Primitive::Map(Function::Trunc);
        let through = |element: Use| Use { whole: element.result && (element.whole || cuts), ..element };
        match &node.primitive {
            Primitive::Load(_) | Primitive::Map(_) | Primitive::Custom(_) => {
                node.operands.iter().for_each(|operand| self.mark(operand, |index| through(value[index])));
            }
            Primitive::Concat { places, .. } => {
                for (operand, place) in node.operands.iter().zip(places) {
                    let offsets: Vec<usize> = place.offsets().collect();
                    self.mark(operand, |index| value[offsets[index]]);
                }
            }
            _ => node.operands.iter().for_each(|operand| self.mark(operand, |_| Use { result: true, whole: false })),
        }
    }
}
