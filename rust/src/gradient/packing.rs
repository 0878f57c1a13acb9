//! Linear layers of a module with packed matrices (`cpp/kernels/packed.cpp`): their parameters lie packed for as long as a
//! fit lasts, activations run inside the products, and values stay packed from layer to layer.
//!
//! A layer is packed if a weight [outputs, inputs] and a bias [outputs] are used for it alone, in both modes, and if it takes
//! the events as they are or is connected with another such layer by element-wise functions: packing the rows of a single
//! layer, and unpacking them, would cost as much as it gains. For predictions single layers are packed, too, so that an
//! event gets the same bits whatever the number of events is. In a program the weight's argument becomes the packed
//! layer, and the bias's argument what is derived from it. With products in bfloat16 that is the weight as pairs, and a
//! separate node rounds the input.

mod layers;
mod packer;

use std::marker::PhantomData;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::graph::{Captured, Mode, Module, Precision, Program};
use crate::kernels::{Scalar, bf16};
use layers::{Found, computes_packed, is_whole, layers_of, uses};
use packer::Packer;

/// Where the parameters of a module lie.
pub struct Packing<T> {
    layers: Vec<Layer>,
    /// The replacements of captured tensors.
    bindings: Vec<Binding>,
    parameters: usize,
    derived: usize,
    /// Whether single layers are packed.
    takes_single: bool,
    scalar: PhantomData<T>,
}

/// The value that is passed in place of a captured tensor.
#[derive(Clone, Debug)]
pub enum Binding {
    /// A part of the parameters in their own order, with its gradient.
    Own(Range<usize>),
    /// A part of what is derived from them.
    Derived(Range<usize>),
    /// The tensor itself: state, or numbers that stay.
    Itself,
}

/// A packed layer: captured tensors, where they lie in the flat vector, and what they become.
#[derive(Clone)]
struct Layer {
    weight: usize,
    bias: usize,
    flat: [Range<usize>; 2],
    inputs: usize,
    outputs: usize,
    own: Range<usize>,
    derived: Range<usize>,
    /// Nothing goes back to its input.
    takes_events: bool,
    /// The factors of its products are rounded to bfloat16 in training.
    is_rounded: bool,
}

/// A program whose layers are packed.
pub struct Packed {
    /// Its arguments are those of the module's program, some of them replaced: see [`Binding`].
    pub program: Program,
    /// The events, its first argument, are packed too.
    pub packs_events: bool,
}

impl<T: Scalar> Packing<T> {
    /// Every parameter lies as in the flat vector.
    pub fn plain(module: &Module) -> Self {
        let place = |captured: &Captured| match captured {
            Captured::Parameter(range) => Binding::Own(range.clone()),
            Captured::State(_) | Captured::Fixed(_) => Binding::Itself,
        };
        Packing {
            layers: Vec::new(),
            bindings: module.captured().iter().map(place).collect(),
            parameters: module.parameters(),
            derived: 0,
            takes_single: false,
            scalar: PhantomData,
        }
    }

    /// Packs what can be packed for `rows` rows. In bfloat16 the layers of more than one output are rounded, if it runs here.
    pub fn new(module: &Module, rows: usize, precision: Precision) -> Result<Self> {
        Self::of(module, rows, precision, false)
    }

    /// The same for predictions.
    pub fn for_predictions(module: &Module, rows: usize) -> Result<Self> {
        Self::of(module, rows, Precision::Float32, true)
    }

    fn of(module: &Module, rows: usize, precision: Precision, takes_single: bool) -> Result<Self> {
        let mut layers = layers_of(module, Mode::Training, rows, takes_single)?;
        let other_rows = [(Mode::Training, 1), (Mode::Evaluation, rows), (Mode::Evaluation, 1)];
        for (mode, rows) in other_rows.into_iter().filter(|&(mode, rows)| rows > 1 || module.takes_one(mode)) {
            let others = layers_of(module, mode, rows, takes_single)?;
            layers.retain(|layer| others.contains(layer));
        }
        let mut packing = Packing { parameters: 0, takes_single, ..Packing::plain(module) };
        for Found { weight, bias, shape: [inputs, outputs], takes_events } in layers {
            let (Captured::Parameter(w), Captured::Parameter(b)) =
                (&module.captured()[weight], &module.captured()[bias])
            else {
                continue;
            };
            let own = extend(&mut packing.parameters, T::layer_length(inputs, outputs));
            let is_rounded = precision == Precision::BF16 && outputs > 1 && bf16::is_available::<T>();
            let lengths = derived_lengths::<T>([inputs, outputs], takes_events, is_rounded);
            let derived = extend(&mut packing.derived, lengths.iter().sum());
            packing.bindings[weight] = Binding::Own(own.clone());
            packing.bindings[bias] = Binding::Derived(derived.clone());
            let flat = [w.clone(), b.clone()];
            packing.layers.push(Layer { weight, bias, flat, inputs, outputs, own, derived, takes_events, is_rounded });
        }
        for (index, captured) in module.captured().iter().enumerate() {
            if let Captured::Parameter(range) = captured
                && !packing.layers.iter().any(|layer| layer.weight == index || layer.bias == index)
            {
                packing.bindings[index] = Binding::Own(extend(&mut packing.parameters, range.len()));
            }
        }
        Ok(packing)
    }

    /// Layers that are packed.
    pub fn layers(&self) -> usize {
        self.layers.len()
    }

    /// Those of them whose products are rounded.
    pub fn rounded_layers(&self) -> usize {
        self.layers.iter().filter(|layer| layer.is_rounded).count()
    }

    /// Numbers of the parameters in their own order.
    pub fn parameters(&self) -> usize {
        self.parameters
    }

    /// Numbers that [`derive`](Self::derive) writes; they are for training.
    pub fn derived(&self, mode: Mode) -> usize {
        if mode == Mode::Training { self.derived } else { 0 }
    }

    /// The value that takes the place of a captured tensor.
    pub fn binding(&self, captured: usize, mode: Mode) -> Binding {
        match &self.bindings[captured] {
            Binding::Derived(_) if mode == Mode::Evaluation => Binding::Derived(0..0),
            place => place.clone(),
        }
    }

    /// The flat vector into the own order.
    pub fn pack(&self, module: &Module, flat: &[T], own: &mut [T]) {
        for (from, to) in self.unpacked(module) {
            own[to].copy_from_slice(&flat[from]);
        }
        for Layer { flat: [w, b], inputs, outputs, own: to, .. } in &self.layers {
            T::pack_layer(*inputs, *outputs, &flat[w.clone()], &flat[b.clone()], &mut own[to.clone()]);
        }
    }

    /// The other way round.
    pub fn unpack(&self, module: &Module, own: &[T], flat: &mut [T]) {
        for (to, from) in self.unpacked(module) {
            flat[to].copy_from_slice(&own[from]);
        }
        let mut bias = Vec::new();
        for Layer { flat: [w, b], inputs, outputs, own: from, .. } in &self.layers {
            bias.resize(*outputs, T::default());
            T::unpack_layer(*inputs, *outputs, &own[from.clone()], &mut flat[w.clone()], &mut bias);
            flat[b.clone()].copy_from_slice(&bias);
        }
    }

    /// The weights once more, as pullbacks read them.
    pub fn derive(&self, own: &[T], derived: &mut [T]) {
        for &Layer { inputs, outputs, own: ref from, derived: ref to, takes_events, is_rounded, .. } in &self.layers {
            let (layer, derived) = (&own[from.clone()], &mut derived[to.clone()]);
            if is_rounded {
                let [weight, _] = derived_lengths::<T>([inputs, outputs], takes_events, is_rounded);
                let (weight, transposed) = derived.split_at_mut(weight);
                bf16::round_layer(inputs, outputs, layer, weight, (!takes_events).then_some(transposed));
            } else if !takes_events {
                T::transpose_layer(inputs, outputs, layer, derived);
            }
        }
    }

    /// Parameters that are not in a layer: where they lie in the flat vector, and in the own order.
    fn unpacked<'a>(&'a self, module: &'a Module) -> impl Iterator<Item = (Range<usize>, Range<usize>)> + 'a {
        let captured = module.captured().iter().zip(&self.bindings).enumerate();
        captured.filter_map(|(index, pair)| match pair {
            (Captured::Parameter(flat), Binding::Own(own))
                if !self.layers.iter().any(|layer| layer.weight == index) =>
            {
                Some((flat.clone(), own.clone()))
            }
            _ => None,
        })
    }

    /// The program of `module` for `rows` rows with its layers packed.
    pub fn apply(&self, module: &Module, mode: Mode, rows: usize) -> Result<Packed> {
        let program = module.program(mode, rows)?;
        if self.layers.is_empty() {
            return Ok(Packed { program, packs_events: false });
        }
        let found = layers_of(module, mode, rows, self.takes_single)?;
        let is_there =
            |layer: &Layer| found.iter().any(|found| [found.weight, found.bias] == [layer.weight, layer.bias]);
        if !self.layers.iter().all(is_there) {
            return Err(Error::Internal(format!(
                "{}: a packed layer is used otherwise for {rows} rows",
                module.name()
            )));
        }
        Packer::new(self, &program, module.constant_indices(mode), mode, rows)?.run()
    }
}

/// Numbers that are derived from a layer: its weight as pairs, if it is rounded, and as the pullback reads it.
fn derived_lengths<T: Scalar>([inputs, outputs]: [usize; 2], takes_events: bool, is_rounded: bool) -> [usize; 2] {
    match is_rounded {
        true => [bf16::across::<T>(inputs, outputs), if takes_events { 0 } else { bf16::across::<T>(outputs, inputs) }],
        false => [0, T::transposed_length(inputs, outputs)],
    }
}

/// The next `length` numbers.
fn extend(end: &mut usize, length: usize) -> Range<usize> {
    let start = *end;
    *end += length;
    start..*end
}
