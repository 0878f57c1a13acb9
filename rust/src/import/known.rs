//! Tensors whose elements are known while a file is read: initialisers, constants, shapes, and what is computed from them.

use std::rc::Rc;

use crate::error::{Error, Result};
use crate::graph::view::checked_length;
use crate::onnx::read::Tensor;
use crate::text;

/// Most elements of a known tensor, and most of its dimensions.
pub const MOST: usize = 1 << 29;
pub const MOST_DIMS: usize = 16;

/// Types of elements, by their numbers in a file.
#[allow(missing_docs)] // They say what they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    Float32 = 1,
    Uint8 = 2,
    Int8 = 3,
    Uint16 = 4,
    Int16 = 5,
    Int32 = 6,
    Int64 = 7,
    Bool = 9,
    Float16 = 10,
    Float64 = 11,
    Uint32 = 12,
    Uint64 = 13,
    Bfloat16 = 16,
}

impl Element {
    const ALL: [Element; 13] = [
        Element::Float32,
        Element::Uint8,
        Element::Int8,
        Element::Uint16,
        Element::Int16,
        Element::Int32,
        Element::Int64,
        Element::Bool,
        Element::Float16,
        Element::Float64,
        Element::Uint32,
        Element::Uint64,
        Element::Bfloat16,
    ];

    /// The type of that number.
    pub fn of(number: i64) -> Result<Self> {
        Self::ALL.into_iter().find(|element| *element as i64 == number).ok_or_else(|| {
            let name = match number {
                8 => "texts".to_owned(),
                14 | 15 => "complex numbers".to_owned(),
                17..=20 => "float8 numbers".to_owned(),
                21 | 22 => "4-bit integers".to_owned(),
                other => format!("elements of type {other}"),
            };
            Error::invalid(name, "export the network with float32 tensors")
        })
    }

    /// Whether they are floating-point numbers.
    pub fn is_float(self) -> bool {
        matches!(self, Element::Float16 | Element::Bfloat16 | Element::Float32 | Element::Float64)
    }

    /// Whether they are integers; truth values are none.
    pub fn is_integer(self) -> bool {
        !self.is_float() && self != Element::Bool
    }

    /// Bytes of an element.
    fn bytes(self) -> usize {
        match self {
            Element::Uint8 | Element::Int8 | Element::Bool => 1,
            Element::Uint16 | Element::Int16 | Element::Float16 | Element::Bfloat16 => 2,
            Element::Float32 | Element::Int32 | Element::Uint32 => 4,
            Element::Float64 | Element::Int64 | Element::Uint64 => 8,
        }
    }

    /// An integer as one of this type holds it: cut off above.
    pub fn wrapped(self, value: i64) -> i64 {
        match self {
            Element::Uint8 => (value as u8).into(),
            Element::Int8 => (value as i8).into(),
            Element::Uint16 => (value as u16).into(),
            Element::Int16 => (value as i16).into(),
            Element::Int32 => (value as i32).into(),
            Element::Uint32 => (value as u32).into(),
            Element::Bool => i64::from(value != 0),
            _ => value,
        }
    }

    /// A number as one of this type holds it.
    pub fn rounded(self, value: f64) -> f64 {
        if self == Element::Float32 { (value as f32).into() } else { value }
    }
}

/// Elements in row-major order.
#[derive(Clone, Debug)]
pub enum Numbers {
    /// Of any precision.
    Floats(Vec<f64>),
    /// Truth values are 0 and 1.
    Integers(Vec<i64>),
}

// What is compared are bits, so that numbers that are shared are found equal without a look at them.
impl Eq for Numbers {}

/// The same bits.
impl PartialEq for Numbers {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Numbers::Floats(a), Numbers::Floats(b)) => a.iter().map(|a| a.to_bits()).eq(b.iter().map(|b| b.to_bits())),
            (Numbers::Integers(a), Numbers::Integers(b)) => a == b,
            _ => false,
        }
    }
}

impl Numbers {
    /// Number of elements.
    pub fn count(&self) -> usize {
        match self {
            Numbers::Floats(list) => list.len(),
            Numbers::Integers(list) => list.len(),
        }
    }

    /// Those at these places.
    pub fn chosen(&self, places: impl Iterator<Item = usize>) -> Self {
        match self {
            Numbers::Floats(list) => Numbers::Floats(places.map(|place| list[place]).collect()),
            Numbers::Integers(list) => Numbers::Integers(places.map(|place| list[place]).collect()),
        }
    }

    /// One of them, as a number.
    pub fn float(&self, at: usize) -> f64 {
        match self {
            Numbers::Floats(list) => list[at],
            Numbers::Integers(list) => list[at] as f64,
        }
    }

    /// The number that all of them are.
    pub fn uniform(&self) -> Option<f64> {
        let same = match self {
            Numbers::Floats(list) => list.windows(2).all(|pair| pair[0].to_bits() == pair[1].to_bits()),
            Numbers::Integers(list) => list.windows(2).all(|pair| pair[0] == pair[1]),
        };
        same.then(|| if self.count() == 0 { 0.0 } else { self.float(0) })
    }
}

/// A tensor whose elements are known.
#[derive(Clone, Debug, PartialEq)]
pub struct Known {
    /// In the file.
    pub element: Element,
    /// Dense.
    pub shape: Vec<usize>,
    /// In row-major order.
    pub numbers: Rc<Numbers>,
    /// Name of the initialiser or constant that it is; empty if it was computed.
    pub name: Rc<str>,
}

impl Known {
    /// One that was computed.
    pub fn new(element: Element, shape: &[usize], numbers: Numbers) -> Self {
        Known { element, shape: shape.to_vec(), numbers: Rc::new(numbers), name: "".into() }
    }

    /// One of int64 that was computed.
    pub fn integers(shape: &[usize], values: Vec<i64>) -> Self {
        Self::new(Element::Int64, shape, Numbers::Integers(values))
    }

    /// One of float32 that was computed.
    pub fn floats(shape: &[usize], values: Vec<f64>) -> Self {
        Self::new(Element::Float32, shape, Numbers::Floats(values))
    }

    /// Elements.
    pub fn count(&self) -> usize {
        self.numbers.count()
    }

    /// Whether a fit may change it: several floating-point numbers from the file, all of a size that a layer's
    /// parameters have.
    pub fn may_train(&self) -> bool {
        const LARGEST: f64 = 1e30; // of a mask's minus infinity, or what stands for it
        let Numbers::Floats(list) = &*self.numbers else { return false };
        !self.name.is_empty() && list.len() > 1 && list.iter().all(|value| value.abs() < LARGEST)
    }

    /// The tensor of a file; `external` gives the bytes of one whose elements lie in another file, and gets their number.
    pub fn of(tensor: &Tensor, external: impl FnOnce(&Tensor, usize) -> Result<Vec<u8>>) -> Result<Self> {
        let name = text::name(tensor.name);
        let refuse = |what: &str| Error::invalid(format!("tensor {name}: {what}"), "export the file again");
        let element = Element::of(tensor.element).map_err(|error| match error {
            Error::Invalid { what, remedy } => Error::invalid(format!("tensor {name} holds {what}"), remedy),
            other => other,
        })?;
        if tensor.dims.len() > MOST_DIMS {
            return Err(refuse("has too many dimensions"));
        }
        let sizes = tensor.dims.iter().map(|&size| usize::try_from(size)).collect::<Result<Vec<_>, _>>();
        let shape = sizes.map_err(|_| refuse("has a negative size"))?;
        let length = checked_length(&shape, MOST).map_err(|_| refuse("is too large"))?;
        let bytes = length * element.bytes();
        let numbers = match (tensor.is_external, tensor.raw) {
            (true, _) => decoded(element, &external(tensor, bytes)?),
            (false, Some(raw)) if raw.len() == bytes => decoded(element, raw),
            (false, Some(raw)) => return Err(refuse(&format!("has {} bytes instead of {bytes}", raw.len()))),
            (false, None) => listed(element, tensor),
        };
        if numbers.count() != length {
            return Err(refuse(&format!("has {} elements instead of {length}", numbers.count())));
        }
        if let (Element::Uint64, Numbers::Integers(list)) = (element, &numbers)
            && list.iter().any(|&value| value < 0)
        {
            return Err(refuse("holds an integer of more than 63 bits"));
        }
        Ok(Known { element, shape, numbers: Rc::new(numbers), name: tensor.name.into() })
    }
}

/// Elements from little-endian bytes.
fn decoded(element: Element, bytes: &[u8]) -> Numbers {
    fn each<const N: usize, T>(bytes: &[u8], number: impl Fn([u8; N]) -> T) -> Vec<T> {
        bytes.as_chunks::<N>().0.iter().map(|word| number(*word)).collect()
    }
    use Numbers::{Floats, Integers};
    match element {
        Element::Float32 => Floats(each(bytes, |word| f32::from_le_bytes(word).into())),
        Element::Float64 => Floats(each(bytes, f64::from_le_bytes)),
        Element::Float16 => Floats(each(bytes, |word| half(u16::from_le_bytes(word)))),
        Element::Bfloat16 => Floats(each(bytes, |word| brain(u16::from_le_bytes(word)))),
        Element::Bool => Integers(each(bytes, |[byte]| i64::from(byte != 0))),
        Element::Uint8 => Integers(each(bytes, |[byte]| byte.into())),
        Element::Int8 => Integers(each(bytes, |word| i8::from_le_bytes(word).into())),
        Element::Uint16 => Integers(each(bytes, |word| u16::from_le_bytes(word).into())),
        Element::Int16 => Integers(each(bytes, |word| i16::from_le_bytes(word).into())),
        Element::Uint32 => Integers(each(bytes, |word| u32::from_le_bytes(word).into())),
        Element::Int32 => Integers(each(bytes, |word| i32::from_le_bytes(word).into())),
        Element::Uint64 | Element::Int64 => Integers(each(bytes, i64::from_le_bytes)),
    }
}

/// Elements from the field of their type.
fn listed(element: Element, tensor: &Tensor) -> Numbers {
    let of = |list: &[i64]| Numbers::Integers(list.iter().map(|&value| element.wrapped(value)).collect());
    match element {
        Element::Float32 => Numbers::Floats(tensor.floats.iter().map(|&value| value.into()).collect()),
        Element::Float64 => Numbers::Floats(tensor.doubles.clone()),
        Element::Float16 => Numbers::Floats(tensor.int32s.iter().map(|&bits| half(bits as u16)).collect()),
        Element::Bfloat16 => Numbers::Floats(tensor.int32s.iter().map(|&bits| brain(bits as u16)).collect()),
        Element::Int64 => of(&tensor.int64s),
        Element::Uint32 | Element::Uint64 => of(&tensor.uint64s),
        _ => of(&tensor.int32s),
    }
}

/// The number with these bits in IEEE 754's binary16.
fn half(bits: u16) -> f64 {
    let (sign, exponent, fraction) = (bits >> 15, i32::from(bits >> 10 & 31), f64::from(bits & 1023));
    let size = match exponent {
        0 => fraction * (-24f64).exp2(),
        31 if fraction == 0.0 => f64::INFINITY,
        31 => f64::NAN,
        _ => (1024.0 + fraction) * f64::from(exponent - 25).exp2(),
    };
    if sign == 1 { -size } else { size }
}

/// The number with these bits in bfloat16, the upper half of a float32.
fn brain(bits: u16) -> f64 {
    f32::from_bits(u32::from(bits) << 16).into()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn half_precision_is_decoded() {
        let bits = [0x3c00, 0xc000, 0x7bff, 0x0001, 0x7c00, 0x0400, 0x8000];
        let values = [1.0, -2.0, 65504.0, 5.960_464_477_539_063e-8, f64::INFINITY, 6.103_515_625e-5, 0.0];
        assert_eq!(bits.map(half), values);
        assert!(half(0x7e00).is_nan());
        assert_eq!(brain(0xbf80), -1.0);
    }
}
