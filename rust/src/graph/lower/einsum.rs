//! Sums over products, as products of matrices.

use super::{Call, Lowered, Operator};
use crate::error::Result;
use crate::graph::Function;
use crate::graph::program::Tensor;

pub(super) const TABLE: &[Operator] = &[
    Operator {
        name: "einsum",
        does: "the sum of products that an equation of letters gives, without `...`",
        lower: einsum,
    },
    Operator { name: "tensordot", does: "sum of products over some dimensions of both", lower: tensordot },
];

/// A tensor and a name for each of its dimensions.
struct Named {
    tensor: Tensor,
    names: Vec<u32>,
}

impl Named {
    fn size(&self, name: u32) -> usize {
        let dim = self.names.iter().position(|&other| other == name);
        dim.map_or(1, |dim| self.tensor.view.sizes[dim])
    }

    fn has(&self, name: u32) -> bool {
        self.names.contains(&name)
    }

    /// With the dimensions in that order, which names all of them.
    fn ordered(&self, names: &[u32]) -> Tensor {
        let order: Vec<usize> = names.iter().filter_map(|name| self.names.iter().position(|own| own == name)).collect();
        Tensor { view: self.tensor.view.permute(&order), ..self.tensor.clone() }
    }

    /// Those of a name that appears twice become their diagonal.
    fn without_repetitions(mut self, call: &Call) -> Result<Self> {
        let mut dim = 0;
        while dim < self.names.len() {
            match self.names[..dim].iter().position(|name| *name == self.names[dim]) {
                Some(first) => {
                    let view = self.tensor.view.diagonal(first, dim);
                    self.tensor.view = view.ok_or_else(|| call.refuse("repeats a letter for other sizes"))?;
                    self.names.remove(dim);
                }
                None => dim += 1,
            }
        }
        Ok(self)
    }

    /// Summed over the dimensions that are not kept.
    fn kept(self, call: &mut Call, is_kept: impl Fn(u32) -> bool) -> Result<Self> {
        let dims: Vec<usize> = (0..self.names.len()).filter(|&dim| !is_kept(self.names[dim])).collect();
        if dims.is_empty() {
            return Ok(self);
        }
        let names = self.names.iter().copied().filter(|&name| is_kept(name)).collect();
        Ok(Named { tensor: call.sum(&self.tensor, &dims, false)?, names })
    }
}

/// The sum over products of both, with the dimensions that are kept.
fn contracted(call: &mut Call, a: Named, b: Named, is_kept: impl Fn(u32) -> bool) -> Result<Named> {
    let a = a.kept(call, |name| b.has(name) || is_kept(name))?;
    let b = b.kept(call, |name| a.has(name) || is_kept(name))?;
    let of =
        |x: &Named, choose: &dyn Fn(u32) -> bool| x.names.iter().copied().filter(|&n| choose(n)).collect::<Vec<_>>();
    let batch = of(&a, &|name| b.has(name) && is_kept(name));
    let summed = of(&a, &|name| b.has(name) && !is_kept(name));
    let left = of(&a, &|name| !b.has(name));
    let right = of(&b, &|name| !a.has(name));
    if let Some(name) = batch.iter().chain(&summed).find(|&&name| a.size(name) != b.size(name)) {
        return Err(call.refuse(format!("gives one letter the sizes {} and {}", a.size(*name), b.size(*name))));
    }
    let length = |x: &Named, names: &[u32]| names.iter().map(|&name| x.size(name)).product::<usize>();
    let sizes = |x: &Named, names: &[u32]| names.iter().map(|&name| x.size(name)).collect::<Vec<_>>();
    let [rows, columns, depth] = [length(&a, &left), length(&b, &right), length(&a, &summed)];
    let shaped = |call: &mut Call, x: &Named, names: [&[u32]; 3], sides: [usize; 2]| {
        let shape = [sizes(&a, &batch), sides.to_vec()].concat();
        call.reshape(&x.ordered(&names.concat()), &shape)
    };
    let first = shaped(call, &a, [&batch, &left, &summed], [rows, depth])?;
    let second = shaped(call, &b, [&batch, &summed, &right], [depth, columns])?;
    let product = if summed.is_empty() {
        call.map(Function::Mul, &[&first, &second])?
    } else {
        call.product(&first, &second, None)?
    };
    let shape = [sizes(&a, &batch), sizes(&a, &left), sizes(&b, &right)].concat();
    Ok(Named { tensor: call.reshape(&product, &shape)?, names: [batch, left, right].concat() })
}

/// `einsum(equation, tensors, path)`, from left to right.
fn einsum(call: &mut Call) -> Lowered {
    let equation: String = call.text(0)?.chars().filter(|letter| *letter != ' ').collect();
    if !equation.chars().all(|letter| letter.is_ascii_alphabetic() || ",->".contains(letter)) {
        return Err(call.refuse(format!("has the equation \"{equation}\"")));
    }
    let (inputs, output) = equation.split_once("->").map_or((equation.as_str(), None), |(i, o)| (i, Some(o)));
    let operands = call.tensors(1)?;
    let terms: Vec<Vec<u32>> = inputs.split(',').map(|term| term.chars().map(u32::from).collect()).collect();
    if terms.len() != operands.len() || operands.is_empty() {
        return Err(call.refuse("has another number of tensors than its equation"));
    }
    let output: Vec<u32> = match output {
        Some(output) => output.chars().map(u32::from).collect(),
        None => once(&terms),
    };
    let mut named = Vec::new();
    for (tensor, names) in operands.into_iter().zip(&terms) {
        let tensor = tensor.ok_or_else(|| call.refuse("misses a tensor"))?;
        let tensor = call.as_number(&tensor)?;
        if tensor.view.rank() != names.len() {
            return Err(call.refuse("has other dimensions than its equation"));
        }
        named.push(Named { tensor, names: names.clone() }.without_repetitions(call)?);
    }
    let mut rest = named.into_iter();
    let mut value = rest.next().ok_or_else(|| call.refuse("takes no tensor"))?;
    for index in 1..terms.len() {
        let Some(next) = rest.next() else { break };
        let later = &terms[index + 1..];
        value = contracted(call, value, next, |name| {
            output.contains(&name) || later.iter().any(|term| term.contains(&name))
        })?;
    }
    let value = value.kept(call, |name| output.contains(&name))?;
    if value.names.len() != output.len() {
        return Err(call.refuse("has a result whose letters are none of its tensors'"));
    }
    Ok(vec![value.ordered(&output)])
}

/// The letters that appear once, in order of the alphabet.
fn once(terms: &[Vec<u32>]) -> Vec<u32> {
    let mut all = terms.concat();
    all.sort_unstable();
    all.chunk_by(|a, b| a == b).filter(|same| same.len() == 1).map(|same| same[0]).collect()
}

/// `tensordot(a, b, dims_self, dims_other)`
fn tensordot(call: &mut Call) -> Lowered {
    let (a, b) = (call.tensor(0)?, call.tensor(1)?);
    let (of_a, of_b) = (call.integers(2)?, call.integers(3)?);
    let rank = a.view.rank();
    let mut names: Vec<u32> = (0..).skip(rank).take(b.view.rank()).collect();
    for (&dim_a, &dim_b) in of_a.iter().zip(&of_b) {
        let (dim_a, dim_b) = (call.dim_of(dim_a, rank)?, call.dim_of(dim_b, b.view.rank())?);
        call.size(&b, dim_b)?;
        names[dim_b] = dim_a as u32;
    }
    let a = Named { tensor: call.as_number(&a)?, names: (0..).take(rank).collect() };
    let b = Named { tensor: call.as_number(&b)?, names };
    let output: Vec<u32> =
        a.names.iter().chain(&b.names).copied().filter(|&name| !(a.has(name) && b.has(name))).collect();
    let value = contracted(call, a, b, |name| output.contains(&name))?;
    Ok(vec![value.ordered(&output)])
}
