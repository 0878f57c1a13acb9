//! Finds the index that was out of range, for messages.

use crate::device::ReadTensors;
use crate::graph::Program;
use crate::graph::program::{Gather, Kind, Node, Origin, Primitive};

/// An index out of range.
pub struct WrongIndex {
    index: i64,
    /// Of its dimension.
    size: usize,
    from_end: bool,
}

impl WrongIndex {
    /// Which index it is, and of what.
    pub fn what(&self, operator: &str) -> String {
        format!("index {} of {operator} is out of range for a dimension of size {}", self.index, self.size)
    }

    /// What to do.
    pub fn remedy(&self) -> String {
        match self.size {
            0 => "its dimension has no elements".to_owned(),
            size if self.from_end => format!("give -{size} to {}", size - 1),
            size => format!("give 0 to {}", size - 1),
        }
    }
}

/// The first such index of observed operator `observed`; `None` where the index was computed: its memory may hold something else
/// by now.
pub fn find(program: &Program, observed: usize, inputs: ReadTensors) -> Option<WrongIndex> {
    let mut nodes = program.nodes.iter().filter(|node| node.observed == observed);
    nodes.find_map(|node| find_in(program, node, inputs))
}

fn find_in(program: &Program, node: &Node, inputs: ReadTensors) -> Option<WrongIndex> {
    let gather = match &node.primitive {
        Primitive::Gather(gather) => gather,
        Primitive::Scatter(scatter) => &scatter.gather,
        _ => return None,
    };
    let index = &node.operands[1];
    let buffer = &program.buffers[index.buffer];
    let (Kind::Index, &Origin::Argument(argument)) = (index.kind, &buffer.origin) else { return None };
    let indices = inputs.read::<i64>(argument, buffer.length);
    let wrong = index.view.offsets().map(|offset| indices[offset]).find(|&index| !is_in_range(gather, index));
    wrong.map(|index| WrongIndex { index, size: gather.size, from_end: gather.from_end })
}

fn is_in_range(gather: &Gather, index: i64) -> bool {
    let size = i64::try_from(gather.size).unwrap_or(i64::MAX);
    let least = if gather.from_end { -size } else { 0 };
    gather.skip == Some(index) || (least..size).contains(&index)
}
