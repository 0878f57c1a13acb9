//! The tensors of a graph while it is read.

use super::known::{Element, Known};

/// A tensor.
#[derive(Clone, Debug)]
pub enum Value {
    /// The same for all events.
    Known(Known),
    /// The result of an operator.
    Computed(Computed),
}

/// The value of an operator.
#[derive(Clone, Debug)]
pub struct Computed {
    /// In the recording.
    pub index: u32,
    /// Dense.
    pub shape: Vec<usize>,
    /// Element type in the file. Integers are computed as numbers; float32 holds those below 2^24 exactly.
    pub element: Element,
}

impl Value {
    /// Sizes of its dimensions.
    pub fn shape(&self) -> &[usize] {
        match self {
            Value::Known(known) => &known.shape,
            Value::Computed(computed) => &computed.shape,
        }
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.shape().len()
    }

    /// In the file.
    pub fn element(&self) -> Element {
        match self {
            Value::Known(known) => known.element,
            Value::Computed(computed) => computed.element,
        }
    }

    /// The tensor, if its elements are known.
    pub fn known(&self) -> Option<&Known> {
        if let Value::Known(known) = self { Some(known) } else { None }
    }
}
