//! Rewrites a program with other nodes in some places.

use super::program::{Node, Origin, Tensor};
use super::{Program, View};
use crate::error::{Error, Result};

/// For each buffer the nodes that read it, once for each operand; none of them for an output.
pub(super) fn readers(program: &Program) -> Vec<Vec<Option<usize>>> {
    let mut readers = vec![Vec::new(); program.buffers.len()];
    for (at, node) in program.nodes.iter().enumerate() {
        node.operands.iter().for_each(|operand| readers[operand.buffer].push(Some(at)));
    }
    program.outputs.iter().for_each(|output| readers[output.buffer].push(None));
    readers
}

/// Rewrites a program.
pub(super) struct Rewriter<'a> {
    pub old: &'a Program,
    pub new: Program,
    /// The new buffer of each old one that has been rewritten.
    pub buffers: Vec<Option<usize>>,
    /// Where the elements of an old buffer lie in its new one, if not as they did.
    pub parts: Vec<Option<View>>,
}

impl<'a> Rewriter<'a> {
    pub fn new(old: &'a Program) -> Self {
        let mut new = Program { arguments: old.arguments.clone(), ..Program::new(old.dtype) };
        let mut buffers = vec![None; old.buffers.len()];
        for (index, buffer) in old.buffers.iter().enumerate() {
            if !matches!(buffer.origin, Origin::Node(_)) {
                buffers[index] = Some(new.buffers.len());
                new.buffers.push(buffer.clone());
            }
        }
        Rewriter { old, new, buffers, parts: vec![None; old.buffers.len()] }
    }

    pub fn buffer(&self, old: usize) -> Result<usize> {
        self.buffers[old].ok_or_else(|| Error::Internal("a buffer before it is computed".into()))
    }

    pub fn tensor(&self, old: &Tensor) -> Result<Tensor> {
        let view = self.parts[old.buffer].as_ref().unwrap_or(&old.view).clone();
        Ok(Tensor { buffer: self.buffer(old.buffer)?, view, ..old.clone() })
    }

    /// The same node.
    pub fn copy(&mut self, at: usize) -> Result<()> {
        let Node { primitive, operands, buffer, shape, observed } = &self.old.nodes[at];
        let operands = operands.iter().map(|operand| self.tensor(operand)).collect::<Result<_>>()?;
        let value = self.new.node(primitive.clone(), operands, shape.clone(), *observed)?;
        self.put(*buffer, &value);
        Ok(())
    }

    /// Says that the old buffer has become `value`, whose adjoint is needed as that of the old one was.
    pub fn put(&mut self, old: usize, value: &Tensor) {
        self.new.buffers[value.buffer].active = self.old.buffers[old].active;
        self.buffers[old] = Some(value.buffer);
    }

    /// The new program, once all of the old one has been rewritten.
    pub fn finished(self) -> Result<Program> {
        let updates = self.old.updates.clone();
        let outputs = &self.old.outputs;
        Ok(Program { updates, ..self.returning(outputs)? })
    }

    /// The new program with these outputs of the old one, once all that they need has been rewritten.
    pub fn returning(mut self, outputs: &[Tensor]) -> Result<Program> {
        for (index, argument) in self.old.arguments.iter().enumerate() {
            self.new.arguments[index].buffer = self.buffer(argument.buffer)?;
        }
        self.new.outputs = outputs.iter().map(|output| self.tensor(output)).collect::<Result<_>>()?;
        self.new.dropout.clone_from(&self.old.dropout);
        Ok(self.new)
    }
}
