//! Models: construction, files, predictions.

use std::collections::VecDeque;
use std::path::Path;
use std::time::Duration;

use super::columns::{ColumnSpec, column_specs, columns};
use crate::dataset::{Dataset, Scaler};
use crate::error::{Error, Result, guard};
use crate::gradient::compile_activation;
use crate::graph::{self, CustomActivation, Op};
use crate::model::{Hidden, Model, NetworkFilter, Training, load_all, save_all};
pub use ffi::Gives;
use ffi::{Activation, Init, Normalisation, ScalerSpec};

#[cxx::bridge(namespace = "CladTorch::Core")]
mod ffi {
    /// Functions between the layers of a perceptron; see `EActivation`.
    enum Activation {
        Identity,
        ReLU,
        LeakyReLU,
        Tanh,
        Sigmoid,
        SiLU,
        GELU,
        Softplus,
    }

    /// Distributions of a layer's first parameters; see `EInit`.
    enum Init {
        Kaiming,
        Xavier,
        Uniform,
    }

    /// Normalisation after each hidden linear layer; see `ENormalisation`.
    enum Normalisation {
        NoNormalisation,
        BatchNorm,
        LayerNorm,
    }

    /// The kind of predictions; see `Gives` in `graph`.
    #[derive(Clone, Copy, Debug)]
    enum Gives {
        Probabilities,
        Values,
        Gaussians,
    }

    /// Means and standard deviations of columns; empty: there is no scaler.
    #[derive(Clone, Debug, PartialEq)]
    struct ScalerSpec {
        /// One for each column.
        mean: Vec<f64>,
        /// One for each column.
        deviation: Vec<f64>,
    }

    unsafe extern "C++" {
        include!("cladtorch/src/bridge/columns.rs.h");
        include!("cladtorch/src/bridge/dataset.rs.h");

        type ColumnSpec = crate::bridge::columns::ColumnSpec;
        type Dataset = crate::dataset::Dataset;
    }

    extern "Rust" {
        #[derive(ExternType)]
        type Model;
        fn model_new(sizes: &[usize], activation: Activation, init: Init, seed: u64) -> Result<Box<Model>>;
        /// The same with normalisation and dropout.
        fn model_new_regularised(
            sizes: &[usize],
            activation: Activation,
            init: Init,
            seed: u64,
            normalisation: Normalisation,
            dropout: f64,
        ) -> Result<Box<Model>>;
        /// The same with C++ text of an activation, which is compiled.
        fn model_new_custom(sizes: &[usize], activation: &str, init: Init, seed: u64) -> Result<Box<Model>>;
        /// `activation` is the text of the model's own; empty: it has none.
        fn model_load(path: &str, activation: &str) -> Result<Box<Model>>;
        /// The same, and refuses a model of a module.
        fn mlp_load(path: &str, activation: &str) -> Result<Box<Model>>;
        /// The network of an ONNX file; `output` is the one that is predicted, or "" for the only one.
        fn model_load_onnx(path: &str, output: &str) -> Result<Box<Model>>;
        fn model_save(model: &Model, path: &str) -> Result<()>;
        type ModelList;
        fn model_list() -> Box<ModelList>;
        /// Adds a copy.
        fn push(self: &mut ModelList, model: &Model) -> Result<()>;
        /// The first one, which it loses; an error where there is none.
        fn pop(self: &mut ModelList) -> Result<Box<Model>>;
        fn len(self: &ModelList) -> usize;
        fn model_save_all(models: &ModelList, path: &str) -> Result<()>;
        /// `activation` as for `model_load`, of all of them.
        fn model_load_all(path: &str, activation: &str) -> Result<Box<ModelList>>;
        /// For other programs.
        fn model_export_onnx(model: &Model, path: &str) -> Result<()>;
        fn model_export_cpp(model: &Model, path: &str, gradient: bool) -> Result<()>;
        fn model_save_weights(model: &Model, path: &str) -> Result<()>;
        /// Whether the file brought scalers, columns and options.
        fn model_load_weights(model: &mut Model, path: &str) -> Result<bool>;
        fn model_clone(model: &Model) -> Result<Box<Model>>;
        fn freeze(self: &mut Model);
        fn model_columns(model: &Model) -> Vec<ColumnSpec>;
        fn model_targets(model: &Model) -> Vec<String>;
        fn model_inputs(model: &Model) -> usize;
        fn model_outputs(model: &Model) -> usize;
        fn model_describe(model: &Model) -> String;
        fn model_gives(model: &Model) -> Gives;
        /// The meaning of its predictions; empty if it was not trained.
        fn model_meaning(model: &Model) -> String;
        fn model_parameters(model: &Model) -> &[f32];
        /// Running statistics.
        fn model_state(model: &Model) -> &[f32];
        /// Batches that fits trained on.
        fn model_batches(model: &Model) -> u64;
        fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()>;
        fn model_scaler(model: &Model) -> ScalerSpec;
        /// Empty: the features are not scaled.
        fn model_set_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()>;
        /// The scaler of the labels.
        fn model_target_scaler(model: &Model) -> ScalerSpec;
        /// Empty: the outputs are not scaled.
        fn model_set_target_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()>;
        fn model_set_columns(model: &mut Model, columns: &Vec<ColumnSpec>) -> Result<()>;
        /// Turns the results of `model_predict` with `raw` into those without.
        fn model_to_predictions(model: &Model, out: &mut [f32]);
        /// `out` is [rows, outputs]; `raw` gives logits instead of probabilities. `threads` 0: all.
        fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()>;
        /// The same for unscaled `features` [rows, inputs].
        fn model_predict_rows(model: &Model, features: &[f32], threads: usize, out: &mut [f32]) -> Result<()>;
        /// The warning when it predicts for `features` [rows, inputs]; may be empty.
        fn model_unlike(model: &Model, features: &[f32]) -> String;
        /// Whether an event's prediction has the same bits in any batch.
        fn model_predicts_alike(model: &Model) -> bool;
        /// `out` is [rows, outputs, inputs], of what `model_predict` gives with `raw`.
        fn model_gradient(model: &Model, data: &Dataset, threads: usize, out: &mut [f32]) -> Result<()>;
        /// Freezes, or unfreezes, the parameters whose names begin with `name`; "": all.
        fn model_freeze(model: &mut Model, name: &str, frozen: bool) -> Result<()>;
        /// A model that is slid over series of strain; see `NetworkFilter`.
        type NetworkFilter;
        fn network_filter(model: &Model, channels: usize, stride: usize) -> Result<Box<NetworkFilter>>;
        fn window(self: &NetworkFilter) -> usize;
        fn outputs(self: &NetworkFilter) -> usize;
        fn obstacle(self: &NetworkFilter) -> &str;
        fn arithmetic(self: &NetworkFilter) -> f64;
        /// `series` are [channels, n].
        fn network_filter_scores(filter: &NetworkFilter, series: &[f32], threads: usize) -> Result<Vec<f32>>;
        /// One event; safe from several threads at once, no allocation after a thread's first call.
        fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()>;
    }
}

/// How long compiling a user's activation may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);

shared_enum!(Activation is graph::Activation, "activation": Identity ReLU LeakyReLU Tanh Sigmoid SiLU GELU Softplus);
shared_enum!(Init is graph::Init, "initialisation": Kaiming Xavier Uniform);
shared_enum!(Gives is graph::Gives, "what a model predicts": Probabilities Values Gaussians);
shared_enum!(Normalisation is graph::Normalisation, "normalisation": NoNormalisation BatchNorm LayerNorm);

fn model_new(sizes: &[usize], activation: Activation, init: Init, seed: u64) -> Result<Box<Model>> {
    guard(|| {
        let activation = graph::Activation::try_from(activation)?;
        Model::new(sizes, activation, init.try_into()?, seed).map(Box::new)
    })
}

fn model_new_regularised(
    sizes: &[usize],
    activation: Activation,
    init: Init,
    seed: u64,
    normalisation: Normalisation,
    dropout: f64,
) -> Result<Box<Model>> {
    guard(|| {
        let hidden = Hidden { activation: activation.try_into()?, normalisation: normalisation.try_into()?, dropout };
        Model::regularised(sizes, &hidden, init.try_into()?, seed).map(Box::new)
    })
}

fn model_new_custom(sizes: &[usize], activation: &str, init: Init, seed: u64) -> Result<Box<Model>> {
    guard(|| {
        let own = Op::Custom(compile_activation(activation, COMPILE_LIMIT)?);
        Model::new(sizes, own, init.try_into()?, seed).map(Box::new)
    })
}

fn custom_activation(text: &str) -> Result<Option<CustomActivation>> {
    (!text.is_empty()).then(|| compile_activation(text, COMPILE_LIMIT)).transpose()
}

fn model_load(path: &str, activation: &str) -> Result<Box<Model>> {
    guard(|| Model::load(Path::new(path), custom_activation(activation)?).map(Box::new))
}

fn mlp_load(path: &str, activation: &str) -> Result<Box<Model>> {
    guard(|| Model::load_mlp(Path::new(path), custom_activation(activation)?).map(Box::new))
}

fn model_load_onnx(path: &str, output: &str) -> Result<Box<Model>> {
    guard(|| Model::load_onnx(Path::new(path), output).map(Box::new))
}

fn model_save(model: &Model, path: &str) -> Result<()> {
    guard(|| model.save(Path::new(path)))
}

/// Models that cross the border one by one.
pub struct ModelList(VecDeque<Model>);

fn model_list() -> Box<ModelList> {
    Box::new(ModelList(VecDeque::new()))
}

impl ModelList {
    fn push(&mut self, model: &Model) -> Result<()> {
        guard(|| {
            self.0.push_back(model.copy()?);
            Ok(())
        })
    }

    fn pop(&mut self) -> Result<Box<Model>> {
        guard(|| self.0.pop_front().map(Box::new).ok_or_else(|| Error::Internal("no model is left".into())))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

fn model_save_all(models: &ModelList, path: &str) -> Result<()> {
    let models: Vec<&Model> = models.0.iter().collect();
    guard(|| save_all(&models, Path::new(path)))
}

fn model_load_all(path: &str, activation: &str) -> Result<Box<ModelList>> {
    guard(|| {
        let own = custom_activation(activation)?;
        load_all(Path::new(path), own.as_ref()).map(|models| Box::new(ModelList(models.into())))
    })
}

fn model_export_onnx(model: &Model, path: &str) -> Result<()> {
    guard(|| model.export_onnx(Path::new(path)))
}

fn model_export_cpp(model: &Model, path: &str, gradient: bool) -> Result<()> {
    guard(|| model.export_cpp(Path::new(path), gradient))
}

fn model_save_weights(model: &Model, path: &str) -> Result<()> {
    guard(|| model.save_weights(Path::new(path)))
}

fn model_load_weights(model: &mut Model, path: &str) -> Result<bool> {
    guard(|| model.load_weights(Path::new(path)))
}

fn model_clone(model: &Model) -> Result<Box<Model>> {
    guard(|| model.copy().map(Box::new))
}

fn model_columns(model: &Model) -> Vec<ColumnSpec> {
    column_specs(model.columns())
}

fn model_targets(model: &Model) -> Vec<String> {
    model.targets().names().to_vec()
}

fn model_inputs(model: &Model) -> usize {
    model.inputs()
}

fn model_outputs(model: &Model) -> usize {
    model.outputs()
}

fn model_gives(model: &Model) -> Gives {
    model.gives().into()
}

fn model_meaning(model: &Model) -> String {
    model.meaning()
}

fn model_describe(model: &Model) -> String {
    model.describe()
}

fn model_parameters(model: &Model) -> &[f32] {
    model.parameters()
}

fn model_state(model: &Model) -> &[f32] {
    model.state()
}

fn model_batches(model: &Model) -> u64 {
    model.batches()
}

fn model_set_parameters(model: &mut Model, values: &[f32]) -> Result<()> {
    guard(|| model.set_parameters(values))
}

fn scaler_spec(scaler: Option<&Scaler>) -> ScalerSpec {
    let mean = scaler.iter().flat_map(|scaler| scaler.mean.iter().copied().map(f64::from)).collect();
    ScalerSpec { mean, deviation: scaler.iter().flat_map(|scaler| scaler.deviation()).collect() }
}

/// None without columns.
fn scaler(mean: &[f64], deviation: &[f64]) -> Result<Option<Scaler>> {
    Ok(Some(Scaler::new(mean, deviation)?).filter(|scaler| !scaler.mean.is_empty()))
}

fn model_scaler(model: &Model) -> ScalerSpec {
    scaler_spec(model.training().scaler.as_ref())
}

fn model_set_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()> {
    guard(|| model.set_training(Training { scaler: scaler(mean, deviation)?, ..model.training().clone() }))
}

fn model_target_scaler(model: &Model) -> ScalerSpec {
    scaler_spec(model.training().label_scaler().as_ref())
}

fn model_set_target_scaler(model: &mut Model, mean: &[f64], deviation: &[f64]) -> Result<()> {
    guard(|| model.set_training(model.training().clone().with_label_scaler(scaler(mean, deviation)?)))
}

#[allow(clippy::ptr_arg)] // What cxx makes of `rust::Vec`.
fn model_set_columns(model: &mut Model, specs: &Vec<ColumnSpec>) -> Result<()> {
    guard(|| model.set_training(Training { columns: columns(specs), ..model.training().clone() }))
}

fn model_to_predictions(model: &Model, out: &mut [f32]) {
    model.to_predictions(out);
}

fn model_predict(model: &Model, data: &Dataset, raw: bool, threads: usize, out: &mut [f32]) -> Result<()> {
    guard(|| model.predict(data, raw, threads, out))
}

fn model_predict_rows(model: &Model, features: &[f32], threads: usize, out: &mut [f32]) -> Result<()> {
    guard(|| model.predict_rows(features, false, threads, out))
}

fn model_unlike(model: &Model, features: &[f32]) -> String {
    model.unlike(features)
}

fn model_predicts_alike(model: &Model) -> bool {
    model.predicts_alike()
}

fn model_gradient(model: &Model, data: &Dataset, threads: usize, out: &mut [f32]) -> Result<()> {
    guard(|| model.gradient(data, threads, out))
}

fn model_freeze(model: &mut Model, name: &str, frozen: bool) -> Result<()> {
    guard(|| model.freeze_parameters(name, frozen))
}

fn network_filter(model: &Model, channels: usize, stride: usize) -> Result<Box<NetworkFilter>> {
    guard(|| NetworkFilter::new(model.copy()?, channels, stride).map(Box::new))
}

fn network_filter_scores(filter: &NetworkFilter, series: &[f32], threads: usize) -> Result<Vec<f32>> {
    guard(|| filter.scores(series, threads))
}

fn model_score(model: &Model, features: &[f32], raw: bool, out: &mut [f32]) -> Result<()> {
    guard(|| model.score(features, raw, out))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `EActivation`, `EInit` and `ENormalisation` cross the border as numbers; `tests/lists.rs` compares those with the domain's.
    #[test]
    fn shared_enums_have_the_numbers_of_the_domains() {
        for (number, &activation) in graph::Activation::ALL.iter().enumerate() {
            assert_eq!(usize::from(Activation::from(activation).repr), number);
        }
        for (number, &init) in graph::Init::ALL.iter().enumerate() {
            assert_eq!(usize::from(Init::from(init).repr), number);
        }
        for (number, &normalisation) in graph::Normalisation::ALL.iter().enumerate() {
            assert_eq!(usize::from(Normalisation::from(normalisation).repr), number);
        }
    }
}
