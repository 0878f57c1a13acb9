//! One observed call of an operator: its arguments by position, as what the operator expects.

use super::{Lowering, is_used, sizes, value};
use crate::error::{Error, Result};
use crate::graph::program::{Kind, Tensor};
use crate::graph::{DType, ObservedArgument, ObservedNode, ObservedValue, Program};

/// A call that is being lowered.
pub struct Call<'a, 'b> {
    pub(super) lowering: &'a mut Lowering<'b>,
    pub(super) node: &'b ObservedNode,
    pub(super) index: usize,
}

impl Call<'_, '_> {
    /// The error that the operator cannot be lowered, because it `does` something.
    pub fn refuse(&self, does: impl AsRef<str>) -> Error {
        let ObservedNode { op, overload, place, .. } = self.node;
        let dot = if overload.is_empty() { "" } else { "." };
        let place = if place.is_empty() { String::new() } else { format!(" at {place}") };
        Error::invalid(format!("{op}{dot}{overload}{place} {}", does.as_ref()), "only LibTorch itself supports it")
    }

    pub(super) fn program(&mut self) -> &mut Program {
        &mut self.lowering.program
    }

    fn argument(&self, position: usize) -> Result<&ObservedArgument> {
        let argument = self.node.arguments.get(position);
        argument.ok_or_else(|| self.refuse(format!("has {} arguments", self.node.arguments.len())))
    }

    fn unexpected(&self, position: usize, expected: &str) -> Error {
        self.refuse(format!("has something else than {expected} as argument {position}"))
    }

    /// Whether there is no such argument.
    pub fn is_none(&self, position: usize) -> bool {
        self.node.arguments.get(position).is_none_or(|argument| *argument == ObservedArgument::None)
    }

    pub fn overload(&self) -> &str {
        &self.node.overload
    }

    fn known(&self, index: u32) -> Result<Tensor> {
        value(self.lowering.graph, index)?;
        let tensor = self.lowering.tensors[index as usize].clone();
        tensor.ok_or_else(|| self.refuse(format!("takes value {index}, which is not computed before it")))
    }

    /// A tensor; a number is one without dimensions.
    pub fn tensor(&mut self, position: usize) -> Result<Tensor> {
        match *self.argument(position)? {
            ObservedArgument::Value(index) => self.known(index),
            _ if self.is_number(position) => {
                let number = self.number(position)?;
                self.program().literal(number)
            }
            _ => Err(self.unexpected(position, "a tensor")),
        }
    }

    /// A tensor that may be missing.
    pub fn optional(&mut self, position: usize) -> Result<Option<Tensor>> {
        if self.is_none(position) { Ok(None) } else { self.tensor(position).map(Some) }
    }

    /// A list of tensors, some of which may be missing.
    pub fn tensors(&mut self, position: usize) -> Result<Vec<Option<Tensor>>> {
        let ObservedArgument::Values(list) = self.argument(position)? else {
            return Err(self.unexpected(position, "a list of tensors"));
        };
        list.iter().map(|index| index.map(|index| self.known(index)).transpose()).collect()
    }

    /// The position among inputs and constants of a tensor passed as it came.
    pub fn argument_number(&self, position: usize) -> Result<usize> {
        let ObservedArgument::Value(wanted) = *self.argument(position)? else {
            return Err(self.unexpected(position, "a tensor"));
        };
        let graph = self.lowering.graph;
        let found = graph.inputs.iter().chain(&graph.constants).position(|&index| index == wanted);
        found.ok_or_else(|| self.refuse(format!("changes argument {position}, which is not one of the function's own")))
    }

    pub fn number(&self, position: usize) -> Result<f64> {
        match *self.argument(position)? {
            ObservedArgument::Float(number) => Ok(number),
            ObservedArgument::Integer(number) => Ok(number as f64),
            ObservedArgument::Bool(flag) => Ok(f64::from(flag)),
            _ => Err(self.unexpected(position, "a number")),
        }
    }

    /// Whether the argument is a number written in the function, not a tensor.
    pub fn is_number(&self, position: usize) -> bool {
        self.argument(position).is_ok_and(|argument| {
            matches!(argument, ObservedArgument::Float(_) | ObservedArgument::Integer(_) | ObservedArgument::Bool(_))
        })
    }

    /// Whether the argument is an integer written in the function, not a tensor.
    pub fn is_integer(&self, position: usize) -> bool {
        self.argument(position).is_ok_and(|argument| matches!(argument, ObservedArgument::Integer(_)))
    }

    pub fn number_or(&self, position: usize, default: f64) -> Result<f64> {
        if self.is_none(position) { Ok(default) } else { self.number(position) }
    }

    /// An option of a formula that holds for finite numbers only.
    pub fn finite_or(&self, position: usize, default: f64) -> Result<f64> {
        let number = self.number_or(position, default)?;
        if number.is_finite() { Ok(number) } else { Err(self.refuse(format!("has {number} as an option"))) }
    }

    pub fn integer(&self, position: usize) -> Result<i64> {
        match *self.argument(position)? {
            ObservedArgument::Integer(number) => Ok(number),
            ObservedArgument::Bool(flag) => Ok(flag.into()),
            _ => Err(self.unexpected(position, "an integer")),
        }
    }

    pub fn integer_or(&self, position: usize, default: i64) -> Result<i64> {
        if self.is_none(position) { Ok(default) } else { self.integer(position) }
    }

    pub fn flag(&self, position: usize) -> Result<bool> {
        Ok(!self.is_none(position) && self.integer(position)? != 0)
    }

    /// A list of integers; one integer is a list of one.
    pub fn integers(&self, position: usize) -> Result<Vec<i64>> {
        match self.argument(position)? {
            ObservedArgument::Integers(list) => Ok(list.clone()),
            ObservedArgument::Integer(number) => Ok(vec![*number]),
            _ => Err(self.unexpected(position, "a list of integers")),
        }
    }

    /// Sizes, none of them negative.
    pub fn sizes(&self, position: usize) -> Result<Vec<usize>> {
        sizes(&self.integers(position)?).map_err(|_| self.refuse("has a negative size"))
    }

    pub fn text(&self, position: usize) -> Result<&str> {
        match self.argument(position)? {
            ObservedArgument::Text(text) => Ok(text),
            _ => Err(self.unexpected(position, "a text")),
        }
    }

    /// A dimension of a tensor of that rank, negative ones counted from the end.
    pub fn dim_of(&self, dim: i64, rank: usize) -> Result<usize> {
        let rank = rank as i64;
        let counted = if dim < 0 { dim + rank.max(1) } else { dim };
        if (0..rank.max(1)).contains(&counted) {
            Ok(counted as usize)
        } else {
            Err(self.refuse(format!("has dimension {dim} of a tensor with {rank}")))
        }
    }

    pub fn dim(&self, position: usize, rank: usize) -> Result<usize> {
        self.dim_of(self.integer(position)?, rank)
    }

    /// Elements along a dimension, which a tensor without dimensions has not.
    pub fn size(&self, x: &Tensor, dim: usize) -> Result<usize> {
        let size = x.view.sizes.get(dim).copied();
        size.ok_or_else(|| self.refuse(format!("needs dimension {dim} of a tensor with {}", x.view.rank())))
    }

    /// Elements along a dimension of the result that LibTorch returned.
    pub fn result_size(&self, result: usize, dim: usize) -> Result<usize> {
        let size = self.result_shape(result)?.get(dim).copied();
        size.ok_or_else(|| self.refuse("returns a tensor with fewer dimensions"))
    }

    /// Dimensions in rising order; none or an empty list mean all.
    pub fn dims(&self, position: usize, rank: usize) -> Result<Vec<usize>> {
        let given = if self.is_none(position) { Vec::new() } else { self.integers(position)? };
        if given.is_empty() || rank == 0 {
            return Ok((0..rank).collect());
        }
        let mut dims = given.into_iter().map(|dim| self.dim_of(dim, rank)).collect::<Result<Vec<_>>>()?;
        dims.sort_unstable();
        dims.dedup();
        Ok(dims)
    }

    /// The shape that LibTorch returned.
    pub fn result_shape(&self, result: usize) -> Result<Vec<usize>> {
        let index = self.node.outputs.get(result).copied();
        let index = index.ok_or_else(|| self.refuse("has no result"))?;
        sizes(&value(self.lowering.graph, index)?.shape)
    }

    /// The strides of an argument in LibTorch's memory.
    pub fn strides(&self, position: usize) -> Result<Vec<usize>> {
        match *self.argument(position)? {
            ObservedArgument::Value(index) => sizes(&value(self.lowering.graph, index)?.strides),
            _ => Err(self.unexpected(position, "a tensor")),
        }
    }

    /// Whether anything takes the result at `position`.
    pub fn is_used(&self, position: usize) -> bool {
        self.node.outputs.get(position).is_some_and(|&output| is_used(self.lowering.graph, output))
    }

    /// Whether LibTorch returned elements of that type.
    pub fn returns(&self, dtype: DType) -> bool {
        let first = self.node.outputs.first().and_then(|&index| value(self.lowering.graph, index).ok());
        first.is_some_and(|value| value.dtype == dtype)
    }

    /// Checks that the lowered tensor has the shape and the type that LibTorch returned.
    pub(super) fn check_result(&self, observed: &ObservedValue, tensor: &Tensor) -> Result<()> {
        if sizes(&observed.shape)? != tensor.view.sizes {
            let shapes = format!("{:?} instead of {:?}", tensor.view.sizes, observed.shape);
            return Err(Error::Internal(format!("{} was lowered to shape {shapes}", self.node.op)));
        }
        let fits = match observed.dtype {
            DType::Int64 => tensor.kind.is_integer(),
            DType::Bool => tensor.kind == Kind::Mask,
            number => !tensor.kind.is_integer() && number == self.lowering.program.dtype,
        };
        match observed.dtype {
            _ if fits => Ok(()),
            DType::Int64 => Err(self.refuse("computes with integers, of which LibTorch keeps every digit")),
            DType::Bool => Err(self.refuse("returns a mask that kernels do not make")),
            number => Err(self.refuse(format!("returns {} in a function of another type", number.name()))),
        }
    }
}
