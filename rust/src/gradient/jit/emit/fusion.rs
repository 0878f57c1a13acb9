//! Which element-by-element nodes are one loop, and its body.

use std::collections::HashMap;

use super::super::lines::emit;
use super::number;
use crate::graph::program::{Origin, Primitive, Tensor};
use crate::graph::{Function, Program};

/// Most operators in one loop, and most arrays it reads: beyond, registers run out.
const LONGEST_CHAIN: usize = 24;
const MOST_LEAVES: usize = 8;

/// How a node is emitted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Group {
    /// A function of its own.
    Root,
    /// Part of the loop of the one node that uses it.
    Inlined,
}

/// Which element-by-element nodes are computed inside the loop of their only user.
pub fn groups(program: &Program) -> Vec<Group> {
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

/// An operator of these operands as text.
type Call = fn(Function, &[String]) -> String;

/// By its name.
pub fn by_name(function: Function, operands: &[String]) -> String {
    format!("{}({})", function.name(), operands.join(", "))
}

/// A loop's body and what it reads.
pub struct Body<'a> {
    pub leaves: Vec<&'a Tensor>,
    /// A statement for each operator.
    pub text: String,
    /// The variable that holds the value of the last one.
    pub result: String,
    /// The operators with their operands, in order; that of number k is the variable `tk`.
    pub steps: Vec<(Function, Vec<String>)>,
    call: Call,
}

impl<'a> Body<'a> {
    /// Of the loop whose last operator is a node, with each operator written as `call` does.
    pub fn new(program: &'a Program, groups: &[Group], index: usize, call: Call) -> Self {
        let (leaves, text, result, steps) = Default::default();
        let mut body = Body { leaves, text, result, steps, call };
        body.result = body.expression(program, groups, index);
        body
    }

    fn expression(&mut self, program: &'a Program, groups: &[Group], index: usize) -> String {
        let node = &program.nodes[index];
        let Primitive::Map(function) = node.primitive else { return String::new() };
        let operands: Vec<String> =
            node.operands.iter().map(|operand| self.operand(program, groups, operand)).collect();
        let variable = format!("t{}", self.steps.len());
        emit!(self.text, "   T {variable} = {};", (self.call)(function, &operands));
        self.steps.push((function, operands));
        variable
    }

    fn operand(&mut self, program: &'a Program, groups: &[Group], operand: &'a Tensor) -> String {
        match &program.buffers[operand.buffer].origin {
            Origin::Node(index) if groups[*index] == Group::Inlined => return self.expression(program, groups, *index),
            Origin::Literal(values) if values.len() == 1 => return number(values[0]),
            _ => (),
        }
        let same = |leaf: &&Tensor| leaf.buffer == operand.buffer && leaf.view == operand.view;
        let position = self.leaves.iter().position(same).unwrap_or_else(|| {
            self.leaves.push(operand);
            self.leaves.len() - 1
        });
        format!("x{position}")
    }
}
