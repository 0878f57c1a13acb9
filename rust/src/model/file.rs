//! The model file: a safetensors file whose metadata holds one JSON text under "cladtorch".
//!
//! Tensors: `layers.K.weight` [outputs, inputs] and `layers.K.bias` [outputs] float32, `scaler.mean` and
//! `scaler.inverse` [inputs], for a regression on standardised targets `target.mean` and `target.inverse` [outputs], all
//! float32. Other programs read it with any safetensors library.
//! [`sealed`] describes the checksum.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::sealed::{self, Checksum, KEY, NO_CHECKSUM};
use super::{Mlp, Model, Network, Training};
use crate::columns::{self, Column};
use crate::dataset::{Scaler, Targets};
use crate::device::HostBuffer;
use crate::error::{Error, Result};
use crate::graph::{Activation, Graph, Init, OWN, Op, Own};
use crate::options::record;
use crate::tensor_file::{Tensor, TensorFile};
use crate::text;

const VERSION: u32 = 1;

#[derive(Serialize, Deserialize)]
struct Header {
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

#[derive(Serialize, Deserialize)]
struct TrainingHeader {
    /// Whether there is a scaler of the features, and one of the targets.
    scaler: bool,
    target: bool,
    columns: Vec<ColumnHeader>,
    /// Names of the label columns.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    targets: Vec<String>,
    /// Empty: there was no fit.
    options: Vec<(String, String)>,
}

/// A [`Column`] in the file.
#[derive(Serialize, Deserialize)]
struct ColumnHeader {
    name: String,
    length: usize,
    pad: f32,
    #[serde(default)]
    inner: usize,
    #[serde(default)]
    mask_of: String,
    #[serde(default)]
    scalar: bool,
}

impl From<Column> for ColumnHeader {
    fn from(Column { name, length, pad, inner, mask_of, scalar }: Column) -> Self {
        ColumnHeader { name, length, pad, inner, mask_of, scalar }
    }
}

impl From<ColumnHeader> for Column {
    fn from(ColumnHeader { name, length, pad, inner, mask_of, scalar }: ColumnHeader) -> Self {
        Column { name, length, pad, inner, mask_of, scalar }
    }
}

impl Model {
    /// Writes the model to `path`: whole or not at all.
    pub fn save(&self, path: &Path) -> Result<()> {
        let mlp = self.saved_network()?;
        self.check_predictions()?;
        sealed::write(path, &self.header(mlp), &self.tensors(mlp))
    }

    fn saved_network(&self) -> Result<&Mlp> {
        match &self.network {
            Network::Mlp(mlp) => Ok(mlp),
            Network::Module(module) => Err(Error::invalid(
                format!("a model of {} cannot be saved to a model file", module.name()),
                "torch::save of the module writes its parameters, which are the model's",
            )),
        }
    }

    /// What the file holds besides the header.
    fn tensors(&self, mlp: &Mlp) -> Vec<Tensor<&[f32]>> {
        let mut tensors = Vec::new();
        for (index, (weight, bias, inputs, outputs)) in mlp.graph().layers().enumerate() {
            let [weight, bias] = [weight, bias].map(|range| &self.parameters()[range]);
            tensors.push(Tensor::new(format!("layers.{index}.weight"), &[outputs, inputs], weight));
            tensors.push(Tensor::new(format!("layers.{index}.bias"), &[outputs], bias));
        }
        for (name, scaler) in [("scaler", &self.training().scaler), ("target", &self.training().target)] {
            let Some(Scaler { mean, inverse }) = scaler else { continue };
            tensors.push(Tensor::new(format!("{name}.mean"), &[mean.len()], &mean[..]));
            tensors.push(Tensor::new(format!("{name}.inverse"), &[inverse.len()], &inverse[..]));
        }
        tensors
    }

    fn header(&self, mlp: &Mlp) -> Header {
        Header {
            version: VERSION,
            sha256: NO_CHECKSUM.to_owned(),
            sizes: mlp.sizes.clone(),
            activation: mlp.activation_name().to_owned(),
            activation_function: match &mlp.activation {
                Op::Own(own) => own.text().to_owned(),
                Op::Activation(_) | Op::Linear { .. } => String::new(),
            },
            init: mlp.init.name().to_owned(),
            seed: mlp.seed,
            training: (*self.training() != Training::default()).then(|| TrainingHeader {
                scaler: self.training().scaler.is_some(),
                target: self.training().target.is_some(),
                columns: self.columns().iter().cloned().map(ColumnHeader::from).collect(),
                targets: self.targets().names().to_vec(),
                options: self.training().options.as_ref().map(record::write).unwrap_or_default(),
            }),
        }
    }

    /// Reads a model. Every size and name in the file is checked before it is used. A model with an activation of the
    /// user's own takes it from `own`, not from the file, whose code nobody has vouched for; the texts must be the same.
    pub fn load(path: &Path, own: Option<Own>) -> Result<Self> {
        let bad = |what: String| Error::ModelFile { path: path.to_path_buf(), what };
        let file = TensorFile::open(path)?;
        let header = file.metadata(KEY);
        let header = header.ok_or_else(|| bad("a safetensors file, but not written by CladTorch".into()))?;
        let damaged = |error: serde_json::Error| bad(format!("damaged: its description cannot be read ({error})"));
        let Version { version } = serde_json::from_str(header).map_err(damaged)?;
        if version != VERSION {
            return Err(bad(format!("version {version}, this CladTorch reads version {VERSION}")));
        }
        let header: Header = serde_json::from_str(header).map_err(damaged)?;
        Self::from_file(header, file, own).map_err(|error| match error {
            Error::Invalid { what, .. } => bad(what),
            other => other,
        })
    }

    fn from_file(header: Header, mut file: TensorFile, own: Option<Own>) -> Result<Self> {
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

/// What every version of a header has.
#[derive(Deserialize)]
struct Version {
    version: u32,
}

impl Header {
    /// Whether the file has what `part` says.
    fn has(&self, part: impl Fn(&TrainingHeader) -> bool) -> bool {
        self.training.as_ref().is_some_and(part)
    }

    /// What stands between the layers; `own` is the user's.
    fn activation(&self, own: Option<Own>) -> Result<Op> {
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
            (None, Some(own)) if self.activation == OWN && own.text() == self.activation_function => Ok(Op::Own(own)),
            (None, Some(_)) if self.activation == OWN => Err(needs("it was made with another activation")),
            (None, _) if self.activation == OWN => Err(needs("its activation is the user's own")),
            (None, _) => Err(Error::invalid(format!("unknown activation \"{}\"", text::name(&self.activation)), "")),
        }
    }
}

impl TrainingHeader {
    /// With the scalers of features and targets that were read.
    fn checked(self, [scaler, target]: [Option<Scaler>; 2]) -> Result<Training> {
        let columns: Vec<_> = self.columns.into_iter().map(Column::from).collect();
        let of_feature = |at| match columns.is_empty() {
            true => format!("feature {at}"),
            false => columns::element_name(&columns, at),
        };
        check_factors(&scaler, of_feature)?;
        check_factors(&target, |at| format!("target {at}"))?;
        let trained = !self.options.is_empty();
        let options = trained.then(|| record::read(&self.options)).transpose()?;
        Ok(Training { scaler, target, columns, targets: Targets::new(&self.targets)?, options })
    }
}

/// Refuses factors of 0 or less; `name` says what column `at` is called.
fn check_factors(scaler: &Option<Scaler>, name: impl Fn(usize) -> String) -> Result<()> {
    let inverse = scaler.as_ref().map_or(&[][..], |scaler| &scaler.inverse);
    match inverse.iter().position(|&inverse| inverse <= 0.0) {
        None => Ok(()),
        Some(at) => Err(Error::invalid(format!("its scaler multiplies {} by {}", name(at), inverse[at]), "")),
    }
}
