//! Linear layers of a module in panels, as `cpp/kernels/panels.cpp` has them: their parameters lie packed for as long as a
//! fit lasts, activations run inside the products, and values stay in panels from layer to layer.
//!
//! A layer is packed if a weight [outputs, inputs] and a bias [outputs] are used for it alone, in both modes, and if it takes
//! the events as they are or is connected with another such layer by element-wise functions: bringing the rows of a single
//! layer into panels and back would cost as much as it gains. In a program the weight's argument becomes the packed layer and
//! the bias's what is derived from it. With products in bfloat16 that is the weight as pairs, and a node of its own rounds the input.

use std::marker::PhantomData;
use std::ops::Range;

use crate::error::{Error, Result};
use crate::graph::program::{Linear, Node, Origin, Primitive, Product, Tensor};
use crate::graph::{Activation, Captured, Function, Mode, Module, Precision, Program, View};
use crate::kernels::strided::Channels;
use crate::kernels::{Scalar, bf16};

/// Where the parameters of a module lie.
pub struct Packing<T> {
    layers: Vec<Layer>,
    /// What takes the place of each captured tensor.
    places: Vec<Place>,
    parameters: usize,
    derived: usize,
    scalar: PhantomData<T>,
}

/// What is passed in the place of a captured tensor.
#[derive(Clone, Debug)]
pub enum Place {
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
    /// Its arguments are those of the module's program, some of them replaced: see [`Place`].
    pub program: Program,
    /// The events, its first argument, lie in panels too.
    pub events_in_panels: bool,
}

impl<T: Scalar> Packing<T> {
    /// Every parameter lies as in the flat vector.
    pub fn plain(module: &Module) -> Self {
        let place = |captured: &Captured| match captured {
            Captured::Parameter(range) => Place::Own(range.clone()),
            Captured::State(_) | Captured::Fixed(_) => Place::Itself,
        };
        Packing {
            layers: Vec::new(),
            places: module.captured().iter().map(place).collect(),
            parameters: module.parameters(),
            derived: 0,
            scalar: PhantomData,
        }
    }

    /// Packs what can be packed for `rows` rows. In bfloat16 the layers of more than one output are rounded, if it runs here.
    pub fn new(module: &Module, rows: usize, precision: Precision) -> Result<Self> {
        let mut layers = layers_of(module, Mode::Training, rows)?;
        let other_rows = [(Mode::Training, 1), (Mode::Evaluation, rows), (Mode::Evaluation, 1)];
        for (mode, rows) in other_rows.into_iter().filter(|&(mode, rows)| rows > 1 || module.takes_one(mode)) {
            let others = layers_of(module, mode, rows)?;
            layers.retain(|layer| others.contains(layer));
        }
        let mut packing = Packing { parameters: 0, ..Packing::plain(module) };
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
            packing.places[weight] = Place::Own(own.clone());
            packing.places[bias] = Place::Derived(derived.clone());
            let flat = [w.clone(), b.clone()];
            packing.layers.push(Layer { weight, bias, flat, inputs, outputs, own, derived, takes_events, is_rounded });
        }
        for (index, captured) in module.captured().iter().enumerate() {
            if let Captured::Parameter(range) = captured
                && !packing.layers.iter().any(|layer| layer.weight == index || layer.bias == index)
            {
                packing.places[index] = Place::Own(extend(&mut packing.parameters, range.len()));
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

    /// What takes the place of a captured tensor.
    pub fn place(&self, captured: usize, mode: Mode) -> Place {
        match &self.places[captured] {
            Place::Derived(_) if mode == Mode::Evaluation => Place::Derived(0..0),
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
        let captured = module.captured().iter().zip(&self.places).enumerate();
        captured.filter_map(|(index, pair)| match pair {
            (Captured::Parameter(flat), Place::Own(own)) if !self.layers.iter().any(|layer| layer.weight == index) => {
                Some((flat.clone(), own.clone()))
            }
            _ => None,
        })
    }

    /// The program of `module` for `rows` rows with its layers packed.
    pub fn apply(&self, module: &Module, mode: Mode, rows: usize) -> Result<Packed> {
        let program = module.program(mode, rows)?;
        if self.layers.is_empty() {
            return Ok(Packed { program, events_in_panels: false });
        }
        let found = layers_of(module, mode, rows)?;
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

/// A layer that can be packed.
#[derive(Clone, Debug, PartialEq)]
struct Found {
    weight: usize,
    bias: usize,
    /// Inputs and outputs.
    shape: [usize; 2],
    /// Its input are the events as they are.
    takes_events: bool,
}

fn layers_of(module: &Module, mode: Mode, rows: usize) -> Result<Vec<Found>> {
    let (program, constants) = (module.program(mode, rows)?, module.constant_indices(mode));
    let uses = uses(&program);
    let layers: Vec<Option<Found>> =
        program.nodes.iter().map(|node| found(module, &program, constants, &uses, node, rows)).collect();
    let mut chosen = vec![false; layers.len()];
    for (index, layer) in layers.iter().enumerate() {
        let Some(layer) = layer else { continue };
        chosen[index] |= layer.takes_events;
        for before in layers_before(&program, &layers, program.nodes[index].operands[0].buffer) {
            chosen[index] = true;
            chosen[before] = true;
        }
    }
    Ok(layers.into_iter().zip(chosen).filter_map(|(layer, chosen)| layer.filter(|_| chosen)).collect())
}

/// How often each buffer is used.
fn uses(program: &Program) -> Vec<usize> {
    let mut uses = vec![0; program.buffers.len()];
    let operands = program.nodes.iter().flat_map(|node| &node.operands);
    operands.chain(&program.outputs).for_each(|tensor| uses[tensor.buffer] += 1);
    uses
}

/// Whether the node is a layer that can be packed.
fn found(
    module: &Module,
    program: &Program,
    constants: &[usize],
    uses: &[usize],
    node: &Node,
    rows: usize,
) -> Option<Found> {
    let Primitive::Product(Product { m, n, k, batches }) = &node.primitive else { return None };
    let [x, w, b] = &node.operands[..] else { return None };
    let parameter = |tensor: &Tensor, shape: &[usize]| {
        let Origin::Argument(argument) = program.buffers[tensor.buffer].origin else { return None };
        let captured = *constants.get(argument.checked_sub(1)?)?;
        let view = &program.arguments[argument].view;
        let is_parameter =
            matches!(&module.captured()[captured], Captured::Parameter(range) if range.len() == view.len());
        (is_parameter && uses[tensor.buffer] == 1 && view.sizes == shape).then_some(captured)
    };
    let is_layer = batches.len() == 1
        && node.bias() == Some(0)
        && w.view.transpose(0, 1).is_contiguous()
        && is_whole(program, x)
        && x.view.sizes == [*m, *k]
        && [*m, *n, *k].iter().all(|&size| size > 0);
    let bias = |b: &Tensor| parameter(b, &[*n]).or_else(|| (*n == 1).then(|| parameter(b, &[1])).flatten());
    let takes_events = program.buffers[x.buffer].origin == Origin::Argument(0) && *m == rows;
    is_layer
        .then(|| Some(Found { weight: parameter(w, &[*n, *k])?, bias: bias(b)?, shape: [*k, *n], takes_events }))
        .flatten()
}

/// All of its buffer, in its order.
fn is_whole(program: &Program, tensor: &Tensor) -> bool {
    tensor.view.is_contiguous() && tensor.view.len() == program.buffers[tensor.buffer].length
}

/// Layers whose values reach a buffer through element-wise functions.
fn layers_before(program: &Program, layers: &[Option<Found>], buffer: usize) -> Vec<usize> {
    let Origin::Node(index) = program.buffers[buffer].origin else { return Vec::new() };
    if layers[index].is_some() {
        return vec![index];
    }
    let node = &program.nodes[index];
    if !is_in_panels(node) && !matches!(node.primitive, Primitive::Standardise { .. }) {
        return Vec::new();
    }
    let operands = node.operands.iter().filter(|operand| is_whole(program, operand));
    operands.flat_map(|operand| layers_before(program, layers, operand.buffer)).collect()
}

/// Whether the node can compute panels: element by element, and finite where there is no column and all numbers are zero.
fn is_in_panels(node: &Node) -> bool {
    use Function::*;
    matches!(
        node.primitive,
        Primitive::Map(
            Identity
                | Neg
                | Squared
                | Sin
                | Cos
                | Tanh
                | Erf
                | Abs
                | Relu
                | Sigmoid
                | Silu
                | Gelu
                | GeluTanh
                | LogSigmoid
                | Add
                | Sub
                | Mul
                | Maximum
                | Minimum
                | ClampMin
                | ClampMax
                | Leaky
                | Elu
        )
    )
}

/// The next `length` numbers.
fn extend(end: &mut usize, length: usize) -> Range<usize> {
    let start = *end;
    *end += length;
    start..*end
}

/// A program while its layers are packed.
struct Packer<'a, T> {
    packing: &'a Packing<T>,
    old: &'a Program,
    /// The captured tensor that each argument after the first is.
    constants: &'a [usize],
    mode: Mode,
    rows: usize,
    uses: Vec<usize>,
    new: Program,
    /// The new buffers of each old one.
    buffers: Vec<Forms>,
    events_in_panels: bool,
}

/// The buffers in which a tensor's numbers are.
#[derive(Clone, Copy, Default)]
struct Forms {
    dense: Option<usize>,
    /// Rows and columns that it has in panels, and the buffer.
    panels: Option<([usize; 2], usize)>,
}

impl<'a, T: Scalar> Packer<'a, T> {
    fn new(packing: &'a Packing<T>, old: &'a Program, constants: &'a [usize], mode: Mode, rows: usize) -> Result<Self> {
        let mut packer = Packer {
            packing,
            old,
            constants,
            mode,
            rows,
            uses: uses(old),
            new: Program::new(old.dtype),
            buffers: vec![Forms::default(); old.buffers.len()],
            events_in_panels: false,
        };
        packer.arguments()?;
        Ok(packer)
    }

    fn run(mut self) -> Result<Packed> {
        for (index, node) in self.old.nodes.iter().enumerate() {
            if self.is_loaded(node) || self.buffers[node.buffer].panels.is_some() {
                continue; // An activation that runs inside the layer before it.
            }
            match self.layer(node) {
                Some(layer) => self.linear(index, node, layer)?,
                None => self.other(node)?,
            }
        }
        for output in &self.old.outputs {
            let output = self.output(output)?;
            self.new.outputs.push(output);
        }
        self.new.updates.clone_from(&self.old.updates);
        self.new.noise.clone_from(&self.old.noise);
        pull_back_in_the_next_layer(&mut self.new);
        Ok(Packed { program: self.new, events_in_panels: self.events_in_panels })
    }

    fn arguments(&mut self) -> Result<()> {
        let old = self.old;
        for (index, argument) in old.arguments.iter().enumerate() {
            let captured = index.checked_sub(1).and_then(|at| self.constants.get(at)).copied();
            let layer = |is: fn(&Layer) -> usize| self.packing.layers.iter().find(|layer| Some(is(layer)) == captured);
            let (view, gradient) = match (layer(|layer| layer.weight), layer(|layer| layer.bias)) {
                (Some(layer), _) => (View::contiguous(&[layer.own.len()]), argument.gradient),
                (_, Some(layer)) if self.mode == Mode::Training => (View::contiguous(&[layer.derived.len()]), false),
                (_, Some(_)) => (View::contiguous(&[0]), false),
                _ if index == 0 && self.events_come_in_panels() => {
                    self.events_in_panels = true;
                    let width = argument.view.len() / self.rows;
                    (View::contiguous(&[self.rows * T::padded(width)]), false)
                }
                _ => (argument.view.clone(), argument.gradient),
            };
            let tensor = self.new.argument(&argument.name, argument.dtype, view, gradient)?;
            let forms = &mut self.buffers[argument.buffer];
            match index == 0 && self.events_in_panels {
                true => {
                    forms.panels = Some(([self.rows, argument.view.len() / self.rows], tensor.buffer));
                }
                false => forms.dense = Some(tensor.buffer),
            }
        }
        Ok(())
    }

    /// Whether layers that take the events are all that uses them.
    fn events_come_in_panels(&self) -> bool {
        let events = self.old.arguments[0].buffer;
        let readers = self.old.nodes.iter().filter(|node| node.operands.iter().any(|operand| operand.buffer == events));
        let mut readers = readers.peekable();
        let is_dense =
            self.old.buffers[events].origin == Origin::Argument(0) && self.old.arguments[0].view.is_contiguous();
        let are_layers = |node: &Node| self.layer(node).is_some() && node.operands[0].view.sizes[0] == self.rows;
        is_dense
            && readers.peek().is_some()
            && readers.all(are_layers)
            && !self.old.outputs.iter().any(|output| output.buffer == events)
    }

    /// Whether the node is the one that brings an argument into the form of numbers, which the new argument does too.
    fn is_loaded(&self, node: &Node) -> bool {
        matches!(node.primitive, Primitive::Load(_))
            && self.old.arguments.iter().any(|argument| argument.buffer == node.buffer)
    }

    /// The packed layer that a node is.
    fn layer(&self, node: &Node) -> Option<&'a Layer> {
        let (Primitive::Product(_), Some(w)) = (&node.primitive, node.operands.get(1)) else { return None };
        let Origin::Argument(argument) = self.old.buffers[w.buffer].origin else { return None };
        let captured = self.constants.get(argument.checked_sub(1)?)?;
        self.packing.layers.iter().find(|layer| layer.weight == *captured)
    }

    /// The activation that alone takes the node's value, if it can run inside the layer.
    fn activation(&self, index: usize, node: &Node) -> Option<(usize, Activation)> {
        let takes = |after: &&Node| after.operands.iter().any(|operand| operand.buffer == node.buffer);
        let after = self.old.nodes[index + 1..].iter().find(takes).filter(|_| self.uses[node.buffer] == 1)?;
        if !is_whole(self.old, &after.operands[0]) || after.operands[0].buffer != node.buffer {
            return None;
        }
        let activation = match after.primitive {
            Primitive::Map(Function::Relu) => Activation::ReLU,
            Primitive::Map(Function::Leaky) if self.is_literal(&after.operands[1], 0.01) => Activation::LeakyReLU,
            _ => return None,
        };
        Some((after.buffer, activation))
    }

    fn is_literal(&self, tensor: &Tensor, value: f64) -> bool {
        matches!(&self.old.buffers[tensor.buffer].origin, Origin::Literal(values) if **values == [value])
    }

    fn linear(&mut self, index: usize, node: &Node, layer: &'a Layer) -> Result<()> {
        let (x, rows) = (&node.operands[0], node.operands[0].view.sizes[0]);
        let shape = [rows, layer.inputs, layer.outputs];
        let input = self.panels(x.buffer, [rows, layer.inputs])?;
        let activation = self.activation(index, node);
        let is_rounded = layer.is_rounded && self.mode == Mode::Training;
        let mut operands =
            vec![self.whole(input), self.whole(self.captured(layer.weight)?), self.whole(self.captured(layer.bias)?)];
        if is_rounded {
            operands.push(self.rounded(input, [rows, layer.inputs])?);
        }
        let linear = Linear {
            shape,
            behind: activation.map_or(Activation::Identity, |(_, activation)| activation),
            before: Activation::Identity,
            is_pulled_back: false,
            is_rounded,
        };
        let length = rows * T::padded(layer.outputs);
        let value = self.new.node(Primitive::Linear(linear), operands, vec![length], node.observed)?;
        let buffer = activation.map_or(node.buffer, |(buffer, _)| buffer);
        self.buffers[buffer].panels = Some(([rows, layer.outputs], value.buffer));
        Ok(())
    }

    /// The pairs of bfloat16 of a new buffer in panels.
    fn rounded(&mut self, buffer: usize, shape: [usize; 2]) -> Result<Tensor> {
        let is_made = |node: &&Node| node.primitive == Primitive::Round(shape) && node.operands[0].buffer == buffer;
        if let Some(made) = self.new.nodes.iter().find(is_made) {
            return Ok(self.whole(made.buffer));
        }
        let operand = self.whole(buffer);
        self.new.node(Primitive::Round(shape), vec![operand], vec![bf16::both::<T>(shape[0], shape[1])], 0)
    }

    /// Batch normalisation of what lies in panels, or its moments; false where they do not.
    fn channels(&mut self, node: &Node) -> Result<bool> {
        let (&Primitive::Moments(own) | &Primitive::Standardise { channels: own, .. }) = &node.primitive else {
            return Ok(false);
        };
        let panels = self.buffers[node.operands[0].buffer].panels.filter(|_| is_whole(self.old, &node.operands[0]));
        let Some((shape, x)) = panels.filter(|(shape, _)| own.side == 1 && *shape == [own.rows, own.channels]) else {
            return Ok(false);
        };
        let channels = Channels { width: T::padded(1), ..own };
        let mut operands = vec![self.whole(x)];
        for operand in &node.operands[1..] {
            operands.push(self.dense(operand)?);
        }
        let (primitive, sizes) = match node.primitive {
            Primitive::Standardise { eps, .. } => (Primitive::Standardise { channels, eps }, vec![channels.len()]),
            _ => (Primitive::Moments(channels), node.shape.clone()),
        };
        let value = self.new.node(primitive, operands, sizes, node.observed)?;
        self.new.buffers[value.buffer].active &= self.old.buffers[node.buffer].active;
        let forms = &mut self.buffers[node.buffer];
        match node.primitive {
            Primitive::Standardise { .. } => forms.panels = Some((shape, value.buffer)),
            _ => forms.dense = Some(value.buffer),
        }
        Ok(true)
    }

    /// A node that is no layer: in panels where all that it reads is there, else dense.
    fn other(&mut self, node: &Node) -> Result<()> {
        if self.channels(node)? {
            return Ok(());
        }
        let shape = self.shape_in_panels(node);
        let operands = node.operands.iter().map(|operand| match shape {
            Some(shape) => self.in_panels(operand, shape),
            None => self.dense(operand),
        });
        let operands = operands.collect::<Result<_>>()?;
        let value_shape = match shape {
            Some([rows, columns]) => vec![rows * T::padded(columns)],
            None => node.shape.clone(),
        };
        let value = self.new.node(node.primitive.clone(), operands, value_shape, node.observed)?;
        // A detached value has operands with derivatives, and none itself.
        self.new.buffers[value.buffer].active &= self.old.buffers[node.buffer].active;
        let forms = &mut self.buffers[node.buffer];
        match shape {
            Some(shape) => forms.panels = Some((shape, value.buffer)),
            None => forms.dense = Some(value.buffer),
        }
        Ok(())
    }

    /// Rows and columns of the panels that a node can compute.
    fn shape_in_panels(&self, node: &Node) -> Option<[usize; 2]> {
        if !is_in_panels(node) {
            return None;
        }
        let mut shape = None;
        for operand in node.operands.iter().filter(|operand| !self.is_number(operand)) {
            let (own, _) = self.buffers[operand.buffer].panels.filter(|_| is_whole(self.old, operand))?;
            if shape.is_some_and(|shape| shape != own) {
                return None;
            }
            shape = Some(own);
        }
        shape
    }

    /// Whether the tensor is one fixed number, again and again.
    fn is_number(&self, tensor: &Tensor) -> bool {
        let is_one = matches!(&self.old.buffers[tensor.buffer].origin, Origin::Literal(values) if values.len() == 1);
        is_one && tensor.view.strides.iter().zip(&tensor.view.sizes).all(|(&stride, &size)| stride == 0 || size == 1)
    }

    fn in_panels(&mut self, operand: &Tensor, [rows, columns]: [usize; 2]) -> Result<Tensor> {
        if self.is_number(operand) {
            let buffer = self.dense_buffer(operand.buffer)?;
            let view = View { offset: 0, sizes: vec![rows * T::padded(columns)], strides: vec![0] };
            return Ok(Tensor { buffer, view, kind: operand.kind });
        }
        let buffer = self.panels(operand.buffer, [rows, columns])?;
        Ok(self.whole(buffer))
    }

    /// The new argument in the place of a captured tensor.
    fn captured(&self, captured: usize) -> Result<usize> {
        let position = self.constants.iter().position(|&one| one == captured);
        let argument = position.and_then(|position| self.new.arguments.get(1 + position));
        argument.map(|argument| argument.buffer).ok_or_else(|| Error::Internal("a layer without argument".into()))
    }

    /// All of a new buffer.
    fn whole(&self, buffer: usize) -> Tensor {
        let view = View::contiguous(&[self.new.buffers[buffer].length]);
        Tensor { buffer, view, kind: crate::graph::program::Kind::Number }
    }

    /// The new buffer with an old one's numbers in panels.
    fn panels(&mut self, buffer: usize, shape: [usize; 2]) -> Result<usize> {
        if let Some((own, panels)) = self.buffers[buffer].panels {
            return if own == shape {
                Ok(panels)
            } else {
                Err(Error::Internal(format!("panels {own:?}, not {shape:?}")))
            };
        }
        let dense = self.dense_buffer(buffer)?;
        let [rows, columns] = shape;
        let (operand, length) = (self.whole(dense), rows * T::padded(columns));
        let made = self.new.node(Primitive::ToPanels(shape), vec![operand], vec![length], 0)?;
        self.buffers[buffer].panels = Some((shape, made.buffer));
        Ok(made.buffer)
    }

    /// The new buffer with an old one's numbers as they were.
    fn dense_buffer(&mut self, buffer: usize) -> Result<usize> {
        if let Some(dense) = self.buffers[buffer].dense {
            return Ok(dense);
        }
        let made = match (self.buffers[buffer].panels, &self.old.buffers[buffer].origin) {
            (Some((shape, panels)), _) => {
                let operand = self.whole(panels);
                self.new.node(Primitive::FromPanels(shape), vec![operand], vec![shape[0] * shape[1]], 0)?
            }
            (None, Origin::Literal(values)) => self.new.table(values.to_vec(), &[values.len()])?,
            (None, _) => return Err(Error::Internal(format!("buffer {buffer} was never computed"))),
        };
        self.buffers[buffer].dense = Some(made.buffer);
        Ok(made.buffer)
    }

    /// An output: where all its columns are in one panel, its rows are read from there.
    fn output(&mut self, tensor: &Tensor) -> Result<Tensor> {
        let Forms { dense: None, panels: Some(([rows, columns], buffer)) } = self.buffers[tensor.buffer] else {
            return self.dense(tensor);
        };
        let (sizes, width) = (tensor.view.sizes.clone(), T::padded(columns));
        let strides = match sizes[..] {
            [first] if first == rows && columns == 1 => vec![width],
            [first, second] if [first, second] == [rows, columns] => vec![width, 1],
            _ => return self.dense(tensor),
        };
        match is_whole(self.old, tensor) && width == T::padded(1) {
            true => Ok(Tensor { buffer, view: View { offset: 0, sizes, strides }, kind: tensor.kind }),
            false => self.dense(tensor),
        }
    }

    fn dense(&mut self, tensor: &Tensor) -> Result<Tensor> {
        Ok(Tensor { buffer: self.dense_buffer(tensor.buffer)?, ..tensor.clone() })
    }
}

/// Moves the pullbacks of activations into those of the layers that alone take their values.
fn pull_back_in_the_next_layer(program: &mut Program) {
    let mut uses = uses(program);
    // That of the same layer.
    let rounded = program.nodes.iter().filter(|node| matches!(node.primitive, Primitive::Round(_)));
    rounded.for_each(|node| uses[node.operands[0].buffer] -= 1);
    for index in 0..program.nodes.len() {
        let Primitive::Linear(_) = program.nodes[index].primitive else { continue };
        let x = program.nodes[index].operands[0].buffer;
        let Origin::Node(from) = program.buffers[x].origin else { continue };
        let Primitive::Linear(Linear { behind, .. }) = program.nodes[from].primitive else { continue };
        if uses[x] == 1 && behind != Activation::Identity {
            if let Primitive::Linear(layer) = &mut program.nodes[from].primitive {
                layer.is_pulled_back = true;
            }
            if let Primitive::Linear(layer) = &mut program.nodes[index].primitive {
                layer.before = behind;
            }
        }
    }
}
