//! Version 1 of the model file: a perceptron.
//!
//! Tensors: `layers.K.weight` [outputs, inputs] and `layers.K.bias` [outputs] float32, `scaler.mean` and
//! `scaler.inverse` [inputs], for a regression on standardised targets `target.mean` and `target.inverse` [outputs], all
//! float32.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::super::{Mlp, Model};
use super::TrainingHeader;
use crate::dataset::Scaler;
use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::graph::{Activation, CUSTOM, CustomActivation, Graph, Init, Op};
use crate::model::sealed::{self, Checksum, NO_CHECKSUM};
use crate::tensor_file::{Tensor, TensorFile};
use crate::text;

pub(super) const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
pub(super) struct Header {
    version: u32,
    #[serde(default)]
    sha256: String,
    sizes: Vec<usize>,
    activation: String,
    /// C++ text, for people: what a file brings along is never compiled.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    activation_function: String,
    init: String,
    seed: u64,
    training: Option<TrainingHeader>,
}

pub(super) fn save(model: &Model, mlp: &Mlp, path: &Path) -> Result<()> {
    model.check_predictions()?;
    let header = Header {
        version: VERSION,
        sha256: NO_CHECKSUM.to_owned(),
        sizes: mlp.sizes.clone(),
        activation: mlp.activation_name().to_owned(),
        activation_function: match &mlp.activation {
            Op::Custom(own) => own.text().to_owned(),
            Op::Activation(_) | Op::Linear { .. } => String::new(),
        },
        init: mlp.init.name().to_owned(),
        seed: mlp.seed,
        training: model.training_header(),
    };
    let mut tensors = Vec::new();
    for (index, (weight, bias, inputs, outputs)) in mlp.graph().layers().enumerate() {
        let [weight, bias] = [weight, bias].map(|range| &model.parameters()[range]);
        tensors.push(Tensor::new(format!("layers.{index}.weight"), &[outputs, inputs], weight.into()));
        tensors.push(Tensor::new(format!("layers.{index}.bias"), &[outputs], bias.into()));
    }
    tensors.extend(model.scaler_tensors(""));
    sealed::write(path, &header, &tensors)
}

pub(super) fn load(header: Header, mut file: TensorFile, own: Option<CustomActivation>) -> Result<Model> {
    // Before anything is allocated: twice over the file, because what is read must be what was checked.
    let checksum = Checksum::new(&header.sha256, file.header())?;
    checksum.scan(&mut file)?;
    // The weights in the file bound what the sizes may ask for.
    let mut layers = header.sizes.iter().zip(header.sizes.iter().skip(1));
    let claimed = layers.try_fold(0usize, |sum, (&i, &o)| sum.checked_add(i.checked_mul(o)?)?.checked_add(o));
    if claimed.is_none_or(|claimed| claimed > file.numbers()) {
        let sizes = text::list(header.sizes.iter().map(usize::to_string), ", ");
        return Err(Error::invalid(format!("layer sizes [{sizes}] need more weights than it holds"), ""));
    }
    let activation = header.activation(own)?;
    let unknown = || Error::invalid(format!("unknown initialisation \"{}\"", text::name(&header.init)), "");
    let init = Init::from_name(&header.init).ok_or_else(unknown)?;
    let mlp = Mlp::new(&header.sizes, activation, init, header.seed)?;
    let graph = mlp.graph();
    let mut parameters = HostBuffer::zeros(graph.parameters())?;
    let mut scalers = [
        header.has(|training| training.scaler).then(|| Scaler::identity(graph.inputs())),
        header.has(|training| training.target).then(|| Scaler::identity(graph.outputs())),
    ];
    checksum.read(&mut file, slots(graph, parameters.as_mut_slice(), &mut scalers))?;
    let mut model = Model::of_mlp(mlp, parameters)?;
    if let Some(training) = header.training {
        model.set_training(training.checked(scalers)?)?;
    }
    model.check_predictions()?;
    Ok(model)
}

/// Where the tensors of a model with `graph` go.
fn slots<'a>(
    graph: &Graph,
    parameters: &'a mut [f32],
    scalers: &'a mut [Option<Scaler>; 2],
) -> Vec<Tensor<&'a mut [f32]>> {
    let mut tensors = Vec::new();
    let mut rest = parameters;
    for (index, (weight, bias, inputs, outputs)) in graph.layers().enumerate() {
        let (weight, behind) = rest.split_at_mut(weight.len());
        let (bias, behind) = behind.split_at_mut(bias.len());
        tensors.push(Tensor::new(format!("layers.{index}.weight"), &[outputs, inputs], weight));
        tensors.push(Tensor::new(format!("layers.{index}.bias"), &[outputs], bias));
        rest = behind;
    }
    for (name, scaler) in ["scaler", "target"].into_iter().zip(scalers) {
        let Some(Scaler { mean, inverse }) = scaler else { continue };
        tensors.push(Tensor::new(format!("{name}.mean"), &[mean.len()], mean));
        tensors.push(Tensor::new(format!("{name}.inverse"), &[inverse.len()], inverse));
    }
    tensors
}

impl Header {
    /// Whether the file has what `part` says.
    fn has(&self, part: impl Fn(&TrainingHeader) -> bool) -> bool {
        self.training.as_ref().is_some_and(part)
    }

    /// The activation between the layers; `own` is the user's.
    fn activation(&self, own: Option<CustomActivation>) -> Result<Op> {
        let known = Activation::from_name(&self.activation).map(Op::from);
        let needs = |what: &str| {
            let text = &self.activation_function;
            Error::invalid(
                format!("{what}: Load needs this text beside the path, which clang and Clad compile:\n{text}"),
                "",
            )
        };
        match (known, own) {
            (Some(known), None) => Ok(known),
            (Some(_), Some(_)) => {
                Err(Error::invalid(format!("its activation is {}, not a text", text::name(&self.activation)), ""))
            }
            (None, Some(own)) if self.activation == CUSTOM && own.text() == self.activation_function => {
                Ok(Op::Custom(own))
            }
            (None, Some(_)) if self.activation == CUSTOM => Err(needs("it was made with another activation")),
            (None, _) if self.activation == CUSTOM => Err(needs("its activation is the user's own")),
            (None, _) => Err(Error::invalid(format!("unknown activation \"{}\"", text::name(&self.activation)), "")),
        }
    }
}
