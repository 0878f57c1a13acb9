//! Fuses a matrix product and the row that is added to each of its rows into one node, which packed layers need. LibTorch writes a
//! linear layer of inputs with more than two dimensions as such a pair.

use super::program::{Node, Primitive, Product, Tensor};
use super::rewriter::{Rewriter, readers};
use super::{Function, Program};
use crate::error::Result;

/// An addition, and the product that only it reads.
struct Pair {
    /// Indices of the nodes.
    product: usize,
    sum: usize,
    /// The term that is added, as a third operand of the product.
    term: Tensor,
}

/// The program with every such pair as one product, in the place of the sum.
pub fn with_fused_terms(program: Program) -> Result<Program> {
    let readers = readers(&program);
    let mut pairs: Vec<Pair> = (0..program.nodes.len()).filter_map(|at| pair(&program, at, &readers)).collect();
    // Of two products of one row each is the row that is added to the other one.
    pairs.sort_by_key(|pair| pair.sum);
    pairs.dedup_by_key(|pair| pair.sum);
    if pairs.is_empty() {
        return Ok(program);
    }
    let mut rewriter = Rewriter::new(&program);
    for (at, node) in program.nodes.iter().enumerate() {
        if pairs.iter().any(|pair| pair.product == at) {
            continue;
        }
        let Some(pair) = pairs.iter().find(|pair| pair.sum == at) else {
            rewriter.copy(at)?;
            continue;
        };
        let Node { primitive, operands, shape, observed, .. } = &program.nodes[pair.product];
        let operands =
            operands.iter().chain([&pair.term]).map(|operand| rewriter.tensor(operand)).collect::<Result<_>>()?;
        let value = rewriter.new.node(primitive.clone(), operands, shape.clone(), *observed)?;
        rewriter.put(node.buffer, &value);
    }
    rewriter.finished()
}

/// The pair whose product is node `at`.
fn pair(program: &Program, at: usize, readers: &[Vec<Option<usize>>]) -> Option<Pair> {
    let node = &program.nodes[at];
    let Primitive::Product(Product { m, n, batches, .. }) = &node.primitive else { return None };
    let [Some(sum)] = readers[node.buffer][..] else { return None };
    let next = &program.nodes[sum];
    if batches.len() != 1 || node.operands.len() != 2 || next.primitive != Primitive::Map(Function::Add) {
        return None;
    }
    let [a, b] = &next.operands[..] else { return None };
    let (value, term) = if a.buffer == node.buffer { (a, b) } else { (b, a) };
    if !value.view.is_contiguous() || value.view.len() != program.buffers[node.buffer].length {
        return None;
    }
    let view = term.view.reshape(&node.shape)?;
    let [.., down, right] = view.strides[..] else { return None };
    let is_row = (down == 0 || *m == 1) && (right == 1 || *n == 1);
    is_row.then(|| Pair { product: at, sum, term: Tensor { view, ..term.clone() } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::graph::program::Origin;
    use crate::graph::{DType, View};

    /// `x w + b`, the product as [m, n] or with a dimension before it.
    struct Case {
        m: usize,
        n: usize,
        has_batch: bool,
        /// Numbers of `b`, and the view of it that has the shape [2, m / 2, n].
        numbers: usize,
        offset: usize,
        strides: [usize; 3],
        /// The sum is `b + x w`.
        is_turned: bool,
        /// The product is a result, too.
        is_used: bool,
        gradient: bool,
    }

    const ROW: Case = Case {
        m: 6,
        n: 5,
        has_batch: false,
        numbers: 5,
        offset: 0,
        strides: [0, 0, 1],
        is_turned: false,
        is_used: false,
        gradient: true,
    };

    impl Case {
        fn program(&self) -> Program {
            let &Case { m, n, numbers, offset, strides, .. } = self;
            let mut program = Program::new(DType::Float32);
            let mut argument = |name: &str, sizes: &[usize]| {
                program.argument(name, DType::Float32, View::contiguous(sizes), self.gradient).unwrap()
            };
            let [x, w, b] = [argument("x", &[m, 4]), argument("w", &[4, n]), argument("b", &[numbers])];
            let product = Primitive::Product(Product { m, n, k: 4, batches: vec![[0, 0]] });
            let shape = if self.has_batch { vec![1, m, n] } else { vec![m, n] };
            let product = program.node(product, vec![x, w], shape, 0).unwrap();
            let sizes = if m == 1 { vec![1, 1, n] } else { vec![2, m / 2, n] };
            let value = Tensor { view: View::contiguous(&sizes), ..product.clone() };
            let term = Tensor { view: View { offset, sizes: sizes.clone(), strides: strides.to_vec() }, ..b };
            let operands = if self.is_turned { vec![term, value] } else { vec![value, term] };
            let sum = program.node(Primitive::Map(Function::Add), operands, sizes, 1).unwrap();
            program.outputs.push(sum);
            if self.is_used {
                program.outputs.push(product);
            }
            program
        }
    }

    #[test]
    fn a_term_of_each_row_becomes_part_of_the_product() {
        let cases = [
            ROW,
            Case { is_turned: true, ..ROW },
            Case { has_batch: true, ..ROW },
            Case { offset: 3, numbers: 8, ..ROW },
            Case { m: 1, strides: [5, 5, 1], ..ROW },
            Case { n: 1, numbers: 1, strides: [0, 0, 0], ..ROW },
            Case { gradient: false, ..ROW },
        ];
        for case in cases {
            let program = case.program();
            let shape = program.nodes[0].shape.clone();
            let fused = with_fused_terms(program).unwrap();
            let [node] = &fused.nodes[..] else { panic!("{:?}", fused.nodes) };
            // Whoever reads a start pairs its dimensions with those of the product.
            assert_eq!((node.bias(), &node.operands[2].view.sizes, &node.shape), (Some(case.offset), &shape, &shape));
            assert_eq!(fused.outputs[0].buffer, node.buffer);
            assert_eq!(fused.outputs[0].view.sizes.len(), 3);
            assert_eq!(fused.buffers[node.buffer].origin, Origin::Node(0));
            assert_eq!(fused.buffers[node.buffer].active, case.gradient);
        }
    }

    #[test]
    fn of_two_products_of_one_row_one_is_the_term() {
        let mut program = Program::new(DType::Float32);
        let shapes: [&[usize]; 3] = [&[1, 4], &[4, 5], &[4, 5]];
        let [x, v, w] =
            shapes.map(|shape| program.argument("", DType::Float32, View::contiguous(shape), true).unwrap());
        let product = Primitive::Product(Product { m: 1, n: 5, k: 4, batches: vec![[0, 0]] });
        let a = program.node(product.clone(), vec![x.clone(), v], vec![1, 5], 0).unwrap();
        let b = program.node(product, vec![x, w], vec![1, 5], 1).unwrap();
        let sum = program.node(Primitive::Map(Function::Add), vec![a, b], vec![1, 5], 2).unwrap();
        program.outputs.push(sum);
        let fused = with_fused_terms(program).unwrap();
        let operands: Vec<usize> = fused.nodes.iter().map(|node| node.operands.len()).collect();
        assert_eq!(operands, [2, 3]);
    }

    #[test]
    fn other_sums_stay() {
        let cases = [
            Case { is_used: true, ..ROW },
            Case { numbers: 30, strides: [15, 5, 1], ..ROW }, // a matrix
            Case { numbers: 15, strides: [0, 5, 1], ..ROW },  // other numbers for some rows
            Case { numbers: 3, strides: [0, 1, 0], ..ROW },   // a number a row
            Case { numbers: 1, strides: [0, 0, 0], ..ROW },   // one number
            Case { numbers: 10, strides: [0, 0, 2], ..ROW },  // a row that is not dense
        ];
        for case in cases {
            let program = case.program();
            assert_eq!(with_fused_terms(program.clone()).unwrap(), program);
        }
    }
}
