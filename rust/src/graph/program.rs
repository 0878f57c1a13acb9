//! The operator graph of an observed function: a list of few primitives over strided views of contiguous buffers.
//!
//! A tensor is a [`Tensor`]: a view of a buffer. Transposing, slicing, broadcasting and the like change the view and make
//! no node. A node computes one new buffer, dense and row-major, from views of earlier ones, so that the list is in an
//! order in which it can run, and its reverse in one in which adjoints can. In the reverse pass the adjoint of an operand
//! is added to the adjoint of its buffer through the same view: where the view broadcasts, that sums.
//!
//! A number is float32 or float64, one of them in the whole graph; a mask is a number, 0 or 1. Integers are indices.

use std::sync::Arc;

use super::{Activation, CustomActivation, DType, Function, View, view};
use crate::error::{Error, Result};
use crate::kernels::strided::{Channels, Convolution, Ranking};

/// The largest buffer: far beyond what fits in memory, small enough that no product of sizes overflows.
const LENGTH_LIMIT: usize = 1 << 40;

/// A view of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub struct Tensor {
    /// Index into [`Program::buffers`].
    pub buffer: usize,
    /// View of its elements.
    pub view: View,
    /// Kind of its elements.
    pub kind: Kind,
}

impl Tensor {
    /// `length` of its elements along `dim`, from `start` on.
    pub fn narrow(&self, dim: usize, start: usize, length: usize) -> Self {
        Tensor { view: self.view.narrow(dim, start, length, 1), ..*self }
    }
}

/// The kind of a tensor's elements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Numbers.
    Number,
    /// Numbers that are 0 or 1.
    Mask,
    /// int64, only ever read from an argument.
    Index,
    /// Numbers that count true elements of a mask, are places in a row or had their fractions taken off: int64 for LibTorch, and here
    /// numbers with the same values. What LibTorch computes of them as integers is none of these.
    Count,
}

impl Kind {
    /// Whether LibTorch has int64.
    pub fn is_integer(self) -> bool {
        matches!(self, Kind::Index | Kind::Count)
    }
}

/// Where a buffer's elements come from.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin {
    /// The caller: index into [`Program::arguments`].
    Argument(usize),
    /// Fixed numbers.
    Literal(Arc<[f64]>),
    /// Index into [`Program::nodes`].
    Node(usize),
}

/// Memory for a tensor.
#[derive(Clone, Debug, PartialEq)]
pub struct Buffer {
    /// Elements.
    pub length: usize,
    /// Where they come from.
    pub origin: Origin,
    /// Whether its adjoint is needed.
    pub active: bool,
}

/// A tensor that the caller passes.
#[derive(Clone, Debug, PartialEq)]
pub struct Argument {
    /// As in the user's code; may be empty.
    pub name: String,
    /// Element type.
    pub dtype: DType,
    /// Its shape and strides in the caller's memory, from its first element on.
    pub view: View,
    /// Whether its gradient is wanted.
    pub gradient: bool,
    /// Where its elements lie as dense numbers; the adjoint of this buffer is its gradient.
    pub buffer: usize,
}

/// The part of an argument's elements that is read. The parts of an int64 are whole numbers that float32 holds exactly,
/// and compare, from the top down, as the int64 does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Digits {
    /// The element, rounded to the type of the graph.
    All,
    /// The upper 20 bits, with the sign.
    Top,
    /// The 22 bits below.
    Middle,
    /// The lowest 22 bits.
    Bottom,
}

impl Digits {
    /// The parts of an int64, the one that decides first.
    pub const PARTS: [Digits; 3] = [Digits::Top, Digits::Middle, Digits::Bottom];

    /// The part of an integer.
    pub fn of(self, value: i64) -> f64 {
        const MASK: i64 = (1 << 22) - 1;
        (match self {
            Digits::All => value,
            Digits::Top => value >> 44,
            Digits::Middle => (value >> 22) & MASK,
            Digits::Bottom => value & MASK,
        }) as f64
    }
}

/// The computation of a node from its operands.
#[derive(Clone, Debug, PartialEq)]
pub enum Primitive {
    /// An argument, of any type and strides, as dense numbers.
    Load(Digits),
    /// A function, element by element; the operands have the shape of the value.
    Map(Function),
    /// A function that the user wrote, element by element.
    Custom(CustomActivation),
    /// Adds the operand to the view of the value, which has stride 0 in the dimensions summed over.
    Sum(View),
    /// The greatest element over the last dimensions, which have `columns` elements together.
    Max {
        /// Elements of a row.
        columns: usize,
        /// Which of several has the derivative.
        ties: Ties,
    },
    /// The root of the sum of squares over the last dimensions, which have this many elements together; derivative 0 at
    /// 0.
    Length(usize),
    /// Softmax over a dimension of `columns` elements, or its logarithm; the operand is dense unless it is the last one.
    Softmax {
        /// Elements of a row.
        columns: usize,
        /// Between neighbours in a row: 1 over the last dimension, else the elements of the dimensions behind it.
        side: usize,
        /// The logarithm.
        logarithm: bool,
    },
    /// The first operand, dense, by rows of `columns` elements: brought to mean 0 and variance 1, times the second operand
    /// plus the third, both dense rows and broadcast.
    Normalise {
        /// Elements of a row.
        columns: usize,
        /// Added to the variance.
        eps: f64,
    },
    /// Mean and root mean squared deviation [2, channels] of the channels of the operand, dense or packed.
    Moments(Channels),
    /// The first operand, dense or packed, with its channels brought to mean 0 and variance 1 by the second one, which are its
    /// moments, times the third operand plus the fourth, dense [channels]. The pullback goes through the moments, too.
    Standardise {
        /// Of the first operand.
        channels: Channels,
        /// Added to the variance.
        eps: f64,
    },
    /// A product of matrices for each of `batches`: [`m`, `k`] x [`k`, `n`], added to the third operand if there is one.
    Product(Product),
    /// A layer whose rows and parameters are packed (`cpp/kernels/packed.cpp`): the operands are its input, its packed
    /// parameters, and their weight as the pullback reads it; of a rounded layer, the weight as pairs of bfloat16, and its input
    /// as such.
    Linear(Linear),
    /// The operand, [rows, columns] packed, as pairs of bfloat16 along rows and across them (`cpp/kernels/bf16.cpp`); it has no
    /// derivative: that of the layer that reads it is given to the operand.
    Round([usize; 2]),
    /// The operand, dense [rows, columns], packed, with zeros in the padding.
    Pack([usize; 2]),
    /// The other way round.
    Unpack([usize; 2]),
    /// The first operand, dense signals, convolved with the second one, dense weights; plus the third one, if there is one,
    /// a number for each channel of the value that is broadcast.
    Convolve(Convolution),
    /// Where in its row of the last dimension each of the row's first elements is, [..., count]; there is no derivative.
    Argsort(Ranking),
    /// The elements of the first operand that the second one, an index or counts, chooses.
    Gather(Gather),
    /// The third operand, to which the first one, dense, is added where the second one, an index or counts, says.
    Scatter(Scatter),
    /// The value filled with a number, then each operand copied to its place in it.
    Concat {
        /// The value of the rest.
        fill: f64,
        /// A view of the value for each operand.
        places: Vec<View>,
    },
}

impl Primitive {
    /// For people.
    pub fn name(&self) -> &'static str {
        match self {
            Primitive::Load(_) => "Load",
            Primitive::Map(function) => function.name(),
            Primitive::Custom(_) => "Custom",
            Primitive::Sum(_) => "Sum",
            Primitive::Max { .. } => "Max",
            Primitive::Length(_) => "Length",
            Primitive::Softmax { logarithm: false, .. } => "Softmax",
            Primitive::Softmax { logarithm: true, .. } => "LogSoftmax",
            Primitive::Normalise { .. } => "Normalise",
            Primitive::Moments(_) => "Moments",
            Primitive::Standardise { .. } => "Standardise",
            Primitive::Product(_) => "Product",
            Primitive::Linear(Linear { is_rounded: false, .. }) => "Linear",
            Primitive::Linear(Linear { is_rounded: true, .. }) => "RoundedLinear",
            Primitive::Round(_) => "Round",
            Primitive::Pack(_) => "Pack",
            Primitive::Unpack(_) => "Unpack",
            Primitive::Convolve(_) => "Convolve",
            Primitive::Argsort(_) => "Argsort",
            Primitive::Gather(_) => "Gather",
            Primitive::Scatter(_) => "Scatter",
            Primitive::Concat { .. } => "Concat",
        }
    }
}

/// See [`Primitive::Product`]. The last two dimensions of the first two operands are the matrices.
#[derive(Clone, Debug, PartialEq)]
pub struct Product {
    /// Rows of the first factor.
    pub m: usize,
    /// Columns of the second factor.
    pub n: usize,
    /// Terms of each sum.
    pub k: usize,
    /// Where the matrices of each product start: first factor, second factor.
    pub batches: Vec<[usize; 2]>,
}

/// See [`Primitive::Linear`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Linear {
    /// Rows, inputs and outputs.
    pub shape: [usize; 3],
    /// Runs inside this layer; its derivative depends on the sign of its value alone.
    pub behind: Activation,
    /// The one whose value the input is, if its pullback runs inside this layer's.
    pub before: Activation,
    /// The pullback of `behind` runs inside that of the next layer.
    pub is_pulled_back: bool,
    /// The factors of its products are rounded to bfloat16.
    pub is_rounded: bool,
}

/// See [`Primitive::Gather`].
#[derive(Clone, Debug, PartialEq)]
pub struct Gather {
    /// The dimension's elements.
    pub size: usize,
    /// Between them.
    pub stride: usize,
    /// Negative indices count from the end.
    pub from_end: bool,
    /// The index that chooses nothing: its value is 0.
    pub skip: Option<i64>,
}

/// See [`Primitive::Scatter`].
#[derive(Clone, Debug, PartialEq)]
pub struct Scatter {
    /// How the index chooses.
    pub gather: Gather,
    /// Where in the value, dense, each element would go if its index were 0.
    pub places: View,
}

/// Which of several greatest elements has the derivative; the numbers are those of `ct_ties` in `cpp/kernels/kernels.h`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Ties {
    /// The first one, or the last NaN.
    First,
    /// All share it; where the greatest is no number, theirs is none either. The others get 0 times the share, as LibTorch's `amax`
    /// gives it: no number where that is infinite.
    Even,
    /// All share it, those that are no numbers, too; the others get 0.
    EvenNan,
    /// The first one, or the first NaN.
    FirstNan,
}

/// One step of the graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Node {
    /// The primitive that it computes.
    pub primitive: Primitive,
    /// Views of earlier buffers.
    pub operands: Vec<Tensor>,
    /// Its value's buffer.
    pub buffer: usize,
    /// Its value's shape.
    pub shape: Vec<usize>,
    /// The observed operator that it belongs to: index into the observation's nodes.
    pub observed: usize,
}

impl Node {
    /// Where in its buffer the third operand of a single product starts, if every row of the product gets the same
    /// neighbouring numbers of it.
    pub fn bias(&self) -> Option<usize> {
        let (Primitive::Product(Product { m, n, batches, .. }), Some(start)) = (&self.primitive, self.operands.get(2))
        else {
            return None;
        };
        let [.., down, right] = start.view.strides[..] else { return None };
        let is_row = batches.len() == 1 && (down == 0 || *m == 1) && (right == 1 || *n == 1);
        is_row.then_some(start.view.offset)
    }
}

/// Random factors of a dropout, which the caller draws for each call.
#[derive(Clone, Debug, PartialEq)]
pub struct Dropout {
    /// Index into [`Program::arguments`].
    pub argument: usize,
    /// Probability that an element is not 0.
    pub keep: f64,
}

/// A validated graph.
#[derive(Clone, Debug, PartialEq)]
pub struct Program {
    /// Type of every number.
    pub dtype: DType,
    /// Inputs, constants, random factors.
    pub arguments: Vec<Argument>,
    /// Those of `arguments` that are drawn, the last ones of a module's program.
    pub dropout: Vec<Dropout>,
    /// Everything that nodes read and write.
    pub buffers: Vec<Buffer>,
    /// In the order of execution.
    pub nodes: Vec<Node>,
    /// The user's results, then one for each of `updates`.
    pub outputs: Vec<Tensor>,
    /// Arguments that the caller overwrites with the last outputs.
    pub updates: Vec<usize>,
}

impl Program {
    /// An empty graph of float32 or float64 numbers.
    pub fn new(dtype: DType) -> Self {
        Program {
            dtype,
            arguments: Vec::new(),
            dropout: Vec::new(),
            buffers: Vec::new(),
            nodes: Vec::new(),
            outputs: Vec::new(),
            updates: Vec::new(),
        }
    }

    /// Adds an argument and returns it as a tensor of its own type, or of numbers where it has another.
    pub fn argument(&mut self, name: &str, dtype: DType, view: View, gradient: bool) -> Result<Tensor> {
        let dense = dtype == self.dtype && view.is_contiguous();
        let (index, shape) = (self.arguments.len(), view.sizes.clone());
        let buffer = self.buffers.len();
        self.arguments.push(Argument { name: name.to_owned(), dtype, view: view.clone(), gradient, buffer });
        self.buffer(extent(&view)?, Origin::Argument(index), gradient && dense);
        let kind = match dtype {
            DType::Int64 => Kind::Index,
            DType::Bool => Kind::Mask,
            DType::Float32 | DType::Float64 => Kind::Number,
        };
        let tensor = Tensor { buffer, view, kind };
        if dense || kind == Kind::Index {
            return Ok(tensor);
        }
        let loaded = self.node(Primitive::Load(Digits::All), vec![tensor], shape, 0)?;
        self.buffers[loaded.buffer].active = gradient;
        self.arguments[index].buffer = loaded.buffer;
        Ok(Tensor { kind, ..loaded })
    }

    /// One number as a tensor without dimensions.
    pub fn literal(&mut self, value: f64) -> Result<Tensor> {
        let is_same = |buffer: &Buffer| match &buffer.origin {
            Origin::Literal(values) => matches!(**values, [only] if only.to_bits() == value.to_bits()),
            _ => false,
        };
        match self.buffers.iter().position(is_same) {
            Some(buffer) => Ok(Tensor { buffer, view: View::contiguous(&[]), kind: Kind::Number }),
            None => self.table(vec![value], &[]),
        }
    }

    /// Numbers known now, as a tensor.
    pub fn table(&mut self, values: Vec<f64>, shape: &[usize]) -> Result<Tensor> {
        let buffer = self.buffer(values.len(), Origin::Literal(values.into()), false);
        Ok(Tensor { buffer, view: View::contiguous(shape), kind: Kind::Number })
    }

    /// Adds a node whose value has the given shape. It is active where one of its operands is and a derivative exists.
    pub fn node(
        &mut self,
        primitive: Primitive,
        operands: Vec<Tensor>,
        shape: Vec<usize>,
        observed: usize,
    ) -> Result<Tensor> {
        let flat = match primitive {
            Primitive::Map(function) => !function.is_differentiable(),
            Primitive::Argsort(_) | Primitive::Round(_) => true,
            _ => false,
        };
        let active = !flat && operands.iter().any(|operand| self.is_active(operand));
        for operand in &operands {
            let length = self.buffers[operand.buffer].length;
            if extent(&operand.view)? > length {
                return Err(Error::Internal(format!("a view of {:?} ends beyond its buffer", operand.view)));
            }
        }
        let is_argument = |x: &Tensor| matches!(self.buffers[x.buffer].origin, Origin::Argument(_));
        if operands.iter().any(|operand| operand.kind == Kind::Index && !is_argument(operand)) {
            return Err(Error::Internal(format!("{} of int64 that are no argument", primitive.name())));
        }
        let is_mask = matches!(primitive, Primitive::Map(function) if function.is_mask());
        let length = view::checked_length(&shape, LENGTH_LIMIT)?;
        let buffer = self.buffer(length, Origin::Node(self.nodes.len()), active);
        let view = View::contiguous(&shape);
        self.nodes.push(Node { primitive, operands, buffer, shape, observed });
        Ok(Tensor { buffer, view, kind: if is_mask { Kind::Mask } else { Kind::Number } })
    }

    /// The results of the user's function.
    pub fn results(&self) -> &[Tensor] {
        &self.outputs[..self.outputs.len() - self.updates.len()]
    }

    /// Whether the tensor's adjoint is needed.
    pub fn is_active(&self, tensor: &Tensor) -> bool {
        self.buffers[tensor.buffer].active
    }

    fn buffer(&mut self, length: usize, origin: Origin, active: bool) -> usize {
        self.buffers.push(Buffer { length, origin, active });
        self.buffers.len() - 1
    }
}

/// Elements of memory that the view reaches over.
pub fn extent(view: &View) -> Result<usize> {
    if view.is_empty() {
        return Ok(0);
    }
    let reach = view
        .sizes
        .iter()
        .zip(&view.strides)
        .try_fold(view.offset, |at, (&size, &stride)| at.checked_add((size - 1).checked_mul(stride)?));
    reach.filter(|&reach| reach < LENGTH_LIMIT).map(|reach| reach + 1).ok_or_else(|| {
        Error::invalid(
            format!("a tensor of shape {:?} and strides {:?}", view.sizes, view.strides),
            "use a smaller one",
        )
    })
}
