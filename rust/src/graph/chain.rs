//! A [`Graph`] as a program: a perceptron for any number of rows.

use super::program::{Primitive, Product, Tensor};
use super::{Activation, DType, Graph, Op, Program, View};
use crate::error::Result;

/// The program for `rows` rows. Its arguments are the rows, then the weight [outputs, inputs] and the bias [outputs] of each
/// layer; the former has a gradient if `by_rows`, the others if `trains`.
pub(super) fn program(graph: &Graph, dtype: DType, rows: usize, by_rows: bool, trains: bool) -> Result<Program> {
    let mut program = Program::new(dtype);
    let mut value = program.argument("x", dtype, View::contiguous(&[rows, graph.inputs()]), by_rows)?;
    let mut parameters = Vec::new();
    for (_, _, inputs, outputs) in graph.layers() {
        let weight = program.argument("weight", dtype, View::contiguous(&[outputs, inputs]), trains)?;
        parameters.push([weight, program.argument("bias", dtype, View::contiguous(&[outputs]), trains)?]);
    }
    let mut parameters = parameters.into_iter();
    for (index, node) in graph.nodes().iter().enumerate() {
        let shape = vec![rows, node.outputs];
        value = match &node.op {
            Op::Activation(activation) => activate(&mut program, *activation, value, shape, index)?,
            Op::Custom(own) => program.node(Primitive::Custom(own.clone()), vec![value], shape, index)?,
            Op::Linear { .. } => {
                let Some([weight, bias]) = parameters.next() else { break };
                let weight = Tensor { view: weight.view.transpose(0, 1), ..weight };
                let rows_of_bias = View { offset: 0, sizes: shape.clone(), strides: vec![0, 1] };
                let bias = Tensor { view: rows_of_bias, ..bias };
                let product = Product { m: rows, n: node.outputs, k: node.inputs, batches: vec![[0, 0]] };
                program.node(Primitive::Product(product), vec![value, weight, bias], shape, index)?
            }
        };
    }
    program.outputs.push(value);
    Ok(program)
}

fn activate(
    program: &mut Program,
    activation: Activation,
    x: Tensor,
    shape: Vec<usize>,
    index: usize,
) -> Result<Tensor> {
    let (function, number) = activation.function();
    let mut operands = vec![x];
    if let Some(number) = number {
        let literal = program.literal(number)?;
        let view = View { offset: 0, sizes: shape.clone(), strides: vec![0; shape.len()] };
        operands.push(Tensor { view, ..literal });
    }
    program.node(Primitive::Map(function), operands, shape, index)
}
