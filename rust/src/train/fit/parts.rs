//! The parts of a fit: scalers and an engine.

use std::sync::Arc;
use std::time::Duration;

use tch::Device;

use super::super::learned::Learned;
use super::super::warnings::target_scaling;
use super::super::{OBSERVED, Options};
use crate::dataset::Scaler;
use crate::device;
use crate::error::{Error, Result};
use crate::gradient::aot::AotEngine;
use crate::gradient::autograd::{AutogradEngine, LibTorchEngine};
use crate::gradient::cuda::{CudaEngine, Gpu, Start};
use crate::gradient::{BackEnd, Choice, CustomLoss, Engine, ModuleTiles, ObservedLoss, RowLoss, Settings};
use crate::graph::{Loss, Mode, Op, Precision};
use crate::model::{Model, Network, TargetScaling};
use crate::ranks::Ranks;
use crate::text::checksum;

/// How long compiling a user's loss may take.
const COMPILE_LIMIT: Duration = Duration::from_secs(60);

/// The scalers of features and labels, in which padded elements do not count (`masks`): learned on the events, or, without
/// fStandardise, those of the model. Features that the network takes as whole numbers are not scaled. The labels of
/// classifiers have no scaler, nor have those of a user's loss, which is a function of unscaled values.
pub(super) fn scalers(
    model: &Model,
    learned: &Learned,
    masks: &[Option<usize>],
    options: &Options,
    loss: Loss,
) -> Result<(Scaler, Option<Scaler>)> {
    let Learned { data, rows, all, job } = *learned;
    let before = model.training();
    let regression = loss.is_regression() && options.loss_function.is_empty();
    // A module's parameters cannot follow another scale.
    let stays = (matches!(model.network(), Network::Module(_)) || model.has_frozen_ends()) && before.scaler.is_some();
    let has_target = before.options.is_some() || before.target.is_some();
    let target_stays = !options.standardise || stays && has_target;
    let labels = (regression && !target_stays).then(|| data.labels()).transpose()?;
    let count = data.targets().count();
    let kept = before.label_scaler().filter(|_| regression && target_stays);
    // One that changes nothing is that of outputs in any number: kGaussian has two of each target.
    let is_identity = |kept: &Scaler| *kept == Scaler::identity(kept.mean.len());
    let kept =
        kept.map(|kept| if before.options.is_none() && is_identity(&kept) { Scaler::identity(count) } else { kept });
    if let Some(kept) = kept.as_ref().filter(|kept| kept.mean.len() != count) {
        return Err(Error::invalid(
            format!(
                "the model's scaler of the target has {} numbers, the events have {}",
                kept.mean.len(),
                data.targets()
            ),
            "give the model's SetTargetScaler one for each target, or leave fStandardise as it is",
        ));
    }
    // Categories of one's own are no quantities: a mean of them says nothing.
    let mut whole = model.whole_features()?;
    whole.resize(data.width(), false);
    // What was padded is no value, and a mask stays a mask.
    masks.iter().flatten().for_each(|&at| whole[at] = true);
    let learn = |values: &[f32], width, masks: &[Option<usize>]| {
        Scaler::learn_in_parts(values, width, rows, all.len(), masks, &|numbers: &mut [f64]| job.total(numbers))
    };
    let scaling = target_scaling(model, loss);
    let learn_target = |labels: &[f32]| match scaling {
        TargetScaling::Full => learn(labels, count, &[]),
        TargetScaling::WithoutShift => learn(labels, count, &[]).without_shift(),
        TargetScaling::None => Scaler::identity(count),
    };
    Ok(device::thread_pool(options.threads)?.install(|| {
        let scaler = match &before.scaler {
            Some(scaler) if stays || !options.standardise => scaler.clone(),
            None if !options.standardise => Scaler::identity(data.width()),
            _ => learn(data.features(), data.width(), masks).without(&whole),
        };
        (scaler, labels.map(learn_target).or(kept))
    }))
}

/// Checks that the other processes of the fit, if there are any, have the same network, options and, unless each holds
/// a part of them, events.
pub(super) fn check_others(options: &Options, model: &Model, learned: &Learned) -> Result<()> {
    let Some(ranks) = &learned.job.ranks else { return Ok(()) };
    if model.parameters().len() > Ranks::MOST_PARAMETERS {
        return Err(Error::invalid(
            format!("a network of {} parameters with fParallel = kMpi", model.parameters().len()),
            format!("it takes up to {}", Ranks::MOST_PARAMETERS),
        ));
    }
    ranks.check_same("the options", checksum(&format!("{:?}", options.of_fit())))?;
    ranks.check_same("the networks", checksum(&model.network_digest()?))?;
    ranks.check_same("the events", learned.fingerprint()?)
}

/// Refuses what cannot be trained in shares of a batch.
fn check_parallel(options: &Options, model: &Model, choice: &Choice) -> Result<()> {
    let refused = |what: &str, remedy: &str| Err(Error::invalid(format!("{what} with fParallel = kMpi"), remedy));
    // Of a batch a process may have a single event.
    let takes_one = model.module().is_none_or(|module| module.takes_one(Mode::Training));
    match choice.back_end {
        BackEnd::Autograd | BackEnd::Cuda => refused(
            &format!(
                "a fit that runs on {} (fDevice = \"{}\")",
                choice.describe(choice.back_end.title()),
                options.device
            ),
            "it needs kernels, on the CPU",
        ),
        _ if !model.state().is_empty() || !takes_one => refused(
            "batch normalisation, whose statistics are those of a whole batch,",
            "use layer normalisation, or train it in one process",
        ),
        _ => Ok(()),
    }
}

/// Refuses rounded products but by kernels, and in TF32 but by those of a GPU.
fn check_precision(options: &Options, choice: &Choice) -> Result<()> {
    let remedy = match (options.precision, choice.back_end) {
        (Precision::Float32, _) | (_, BackEnd::Cuda) | (Precision::BF16, BackEnd::Aot) => return Ok(()),
        (Precision::BF16, _) => "it needs gradients by Clad (fGradient = kClad)",
        (Precision::TF32 | Precision::TF32x3, _) => {
            "it needs a GPU (fDevice = \"cuda:0\") and gradients by Clad (fGradient = kClad)"
        }
    };
    let (name, title) = (options.precision.enumerator(), choice.back_end.title());
    Err(Error::invalid(
        format!("fPrecision = {name} for a fit that runs on {}", choice.describe(title)),
        format!("{remedy}; kFloat32, the default, needs neither"),
    ))
}

/// The engine that trains `model` from `parameters`, and its back end: LibTorch, if `choice` turns out to be
/// impossible.
pub(super) fn engine(
    model: &Model,
    parameters: &[f32],
    options: &Options,
    own: Option<&Arc<ObservedLoss>>,
    settings: Settings,
    choice: Choice,
    ranks: Option<&Arc<Ranks>>,
) -> Result<(Box<dyn Engine>, Choice)> {
    if ranks.is_some() {
        check_parallel(options, model, &choice)?;
    }
    check_precision(options, &choice)?;
    let device = device::open(&options.device)?;
    let custom_loss = custom_loss(model, options, own)?;
    if let (BackEnd::Cuda, Device::Cuda(index)) = (choice.back_end, device) {
        let on_libtorch = custom_loss.is_none() && can_libtorch(model);
        return match gpu_engine(model, parameters, options, custom_loss, settings, index) {
            Ok(engine) => Ok((Box::new(engine), choice)),
            // LibTorch would not round.
            Err(error) if options.precision != Precision::Float32 => Err(error),
            Err(Error::Invalid { what, .. }) if !on_libtorch => {
                Err(Error::invalid(what, "train it with fDevice = \"cpu\""))
            }
            Err(error) if !on_libtorch => Err(error),
            Err(why) => {
                Ok((libtorch_engine(model, parameters, options, None, settings, device)?, Choice::replaced(&why)))
            }
        };
    }
    let engine = match choice.back_end {
        BackEnd::Aot => aot_engine(model, parameters, options, custom_loss, settings, ranks)?,
        BackEnd::Autograd => libtorch_engine(model, parameters, options, custom_loss, settings, device)?,
        BackEnd::Jit | BackEnd::Cuda => {
            return Err(Error::Internal(format!("{} trains no network here", choice.back_end.name())));
        }
    };
    Ok((engine, choice))
}

/// The loss of the user's own, if the options name one.
fn custom_loss(model: &Model, options: &Options, own: Option<&Arc<ObservedLoss>>) -> Result<Option<CustomLoss>> {
    Ok(match (options.loss_function.as_str(), own) {
        ("", _) => None,
        (OBSERVED, Some(own)) => Some(CustomLoss::Observed(Arc::clone(own))),
        (OBSERVED, None) => {
            return Err(Error::invalid(
                "the options of a fit with a loss of LibTorch's operators do not hold that loss",
                "give it to Fit() after the options, whose fLossFunction is to be empty",
            ));
        }
        (text, _) => Some(RowLoss::compile(text, model.outputs(), COMPILE_LIMIT)?.into()),
    })
}

fn aot_engine(
    model: &Model,
    parameters: &[f32],
    options: &Options,
    custom_loss: Option<CustomLoss>,
    settings: Settings,
    ranks: Option<&Arc<Ranks>>,
) -> Result<Box<dyn Engine>> {
    let module = model.module().ok_or_else(|| Error::Internal("a network without operators".into()))?;
    let tiles = ModuleTiles::new(Arc::clone(module), model.state(), options.seed, settings.precision)?;
    let mut engine = AotEngine::of(tiles, parameters, settings, options.threads)?.with_frozen(model.frozen())?;
    if let Some(ranks) = ranks {
        engine = engine.with_ranks(Arc::clone(ranks))?;
    }
    Ok(Box::new(match custom_loss {
        None => engine,
        Some(loss) => engine.with_custom_loss(loss),
    }))
}

/// Whether LibTorch's operators train the model on a GPU.
fn can_libtorch(model: &Model) -> bool {
    match model.network() {
        Network::Mlp(mlp) => mlp.graph().nodes().iter().all(|node| !matches!(node.op, Op::Custom(_))),
        Network::Module(_) => false,
    }
}

/// The kernels of GPU number `index`, or why they cannot train the model.
fn gpu_engine(
    model: &Model,
    parameters: &[f32],
    options: &Options,
    custom_loss: Option<CustomLoss>,
    settings: Settings,
    index: usize,
) -> Result<CudaEngine> {
    let refused = |what: &str| Error::invalid(format!("back end cuda does not train {what}"), "run it on LibTorch");
    let module = model.module().ok_or_else(|| refused("a network without operators"))?;
    let graph = match model.network() {
        Network::Mlp(mlp) => Some(mlp.graph()),
        Network::Module(_) => None,
    };
    let loss = custom_loss.map(Arc::new);
    let gpu = Gpu::shared(u32::try_from(index).unwrap_or(u32::MAX))?.part(options.gpu_parts);
    let seed = options.seed;
    let start = Start { parameters, state: model.state(), seed, frozen: model.frozen(), loss: loss.as_ref() };
    CudaEngine::new(module, graph, start, settings, gpu)
}

fn libtorch_engine(
    model: &Model,
    parameters: &[f32],
    options: &Options,
    custom_loss: Option<CustomLoss>,
    settings: Settings,
    device: Device,
) -> Result<Box<dyn Engine>> {
    let (seed, threads) = (options.seed, options.threads);
    match model.network() {
        Network::Mlp(_) if custom_loss.is_some() => Err(Error::invalid(
            format!("a loss of your own for a fit that LibTorch runs (fDevice = \"{}\")", options.device),
            "train it with fDevice = \"cpu\"",
        )),
        Network::Mlp(mlp) => {
            let engine = AutogradEngine::new(mlp.graph().clone(), parameters, settings, device, threads)?;
            Ok(Box::new(engine.with_frozen(model.frozen())?))
        }
        Network::Module(module) => {
            if device != Device::Cpu {
                return Err(Error::invalid(
                    format!("{} with fDevice = \"{}\"", module.name(), options.device),
                    "leave fDevice as it is: LibTorch trains a model of a module on the CPU only",
                ));
            }
            let engine = LibTorchEngine::new(module.libtorch()?, parameters, model.state(), settings, seed, threads)?
                .with_frozen(model.frozen());
            Ok(Box::new(match custom_loss {
                None => engine,
                Some(loss) => engine.with_custom_loss(loss),
            }))
        }
    }
}
