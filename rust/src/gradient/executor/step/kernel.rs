//! The kernel of a node, with everything that is known before the values.

use super::row_blocks::RowBlocks;
use crate::error::{Error, Result};
use crate::gradient::executor::products::Products;
use crate::graph::program::{Digits, Gather, Linear, Node, Origin, Primitive, Scatter, Ties};
use crate::graph::{CustomActivation, DType, Program, View};
use crate::kernels::strided::{Channels, Convolution, Pick, Ranking, StridedView};

/// The kernel that computes a node.
pub(in crate::gradient::executor) enum Kernel {
    /// With the whole value where the argument is of the program's type.
    Load(DType, Digits, Option<StridedView>),
    Map(u8),
    Custom(CustomActivation),
    Sum(StridedView),
    Max {
        columns: usize,
        ties: Ties,
    },
    Length(usize),
    Softmax {
        columns: usize,
        side: usize,
        logarithm: bool,
    },
    Normalise {
        columns: usize,
        eps: f64,
        dense: StridedView,
    },
    Moments(Channels),
    Standardise {
        channels: Channels,
        eps: f64,
    },
    Product(Products),
    Linear(Linear),
    Round([usize; 2]),
    Pack([usize; 2]),
    Unpack([usize; 2]),
    Convolve(Convolved),
    Argsort(Ranking),
    Gather(Pick),
    /// With the places in the value, and the whole of it.
    Scatter(Pick, [StridedView; 2]),
    /// Filled first unless its parts are all of it.
    Concat {
        fill: Option<f64>,
        places: Vec<StridedView>,
        blocks: Option<RowBlocks>,
    },
}

/// A convolution with the elements of its signals and weights, and its whole value.
pub(in crate::gradient::executor) struct Convolved {
    pub(super) convolution: Convolution,
    pub(super) signals: usize,
    pub(super) weights: usize,
    pub(super) dense: StridedView,
}

impl Convolved {
    pub(super) fn new(convolution: Convolution, node: &Node) -> Result<Self> {
        let lengths = convolution.lengths();
        let [signals, weights, _] = lengths.ok_or_else(|| Error::Internal(format!("{convolution:?}")))?;
        Ok(Convolved { convolution, signals, weights, dense: View::contiguous(&node.shape).strided()? })
    }
}

pub(super) fn kernel(program: &Program, node: &Node) -> Result<Kernel> {
    Ok(match &node.primitive {
        &Primitive::Load(digits) => {
            let Origin::Argument(argument) = program.buffers[node.operands[0].buffer].origin else {
                return Err(Error::Internal("only arguments are loaded".into()));
            };
            let dtype = program.arguments[argument].dtype;
            let dense = (dtype == program.dtype).then(|| View::contiguous(&node.shape).strided()).transpose()?;
            Kernel::Load(dtype, digits, dense)
        }
        Primitive::Map(function) => Kernel::Map(*function as u8),
        Primitive::Custom(function) => Kernel::Custom(function.clone()),
        Primitive::Sum(target) => Kernel::Sum(target.strided()?),
        &Primitive::Max { columns, ties } => Kernel::Max { columns, ties },
        &Primitive::Length(columns) => Kernel::Length(columns),
        &Primitive::Softmax { columns, side, logarithm } => Kernel::Softmax { columns, side, logarithm },
        &Primitive::Normalise { columns, eps } => {
            Kernel::Normalise { columns, eps, dense: View::contiguous(&node.shape).strided()? }
        }
        &Primitive::Moments(channels) => Kernel::Moments(channels),
        &Primitive::Standardise { channels, eps } => Kernel::Standardise { channels, eps },
        Primitive::Product(product) => Kernel::Product(Products::new(product, node)?),
        &Primitive::Linear(layer) => Kernel::Linear(layer),
        &Primitive::Round(shape) => Kernel::Round(shape),
        &Primitive::Pack(shape) => Kernel::Pack(shape),
        &Primitive::Unpack(shape) => Kernel::Unpack(shape),
        &Primitive::Convolve(convolution) => Kernel::Convolve(Convolved::new(convolution, node)?),
        &Primitive::Argsort(ranking) => Kernel::Argsort(ranking),
        Primitive::Gather(gather) => Kernel::Gather(pick(gather)),
        Primitive::Scatter(Scatter { gather, places }) => {
            Kernel::Scatter(pick(gather), [places.strided()?, View::contiguous(&node.shape).strided()?])
        }
        Primitive::Concat { fill, places } => {
            let places_of_all: usize = places.iter().map(View::len).sum();
            let is_whole = places_of_all == node.shape.iter().product::<usize>();
            Kernel::Concat {
                fill: (!is_whole).then_some(*fill),
                places: places.iter().map(View::strided).collect::<Result<_>>()?,
                blocks: None,
            }
        }
    })
}

pub(super) fn pick(gather: &Gather) -> Pick {
    Pick::new(gather.size, gather.stride, gather.from_end, gather.skip)
}
