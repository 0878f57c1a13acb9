//! Perceptrons on LibTorch's operators and autograd, on any device.

use std::ops::Range;

use tch::{Device, Kind, Reduction, TchError, Tensor, no_grad};

use super::super::{BackEnd, Engine, Rows, RowsOf, Settings, Snapshot, Steps};
use crate::dataset::Scaler;
use crate::error::Error;
use crate::graph::{Activation, Graph, Loss, Node, Op};
use crate::optimiser::TensorOptimiser;

/// An error of LibTorch, or one of ours.
#[derive(Debug)]
pub struct Failure(Error);

impl From<TchError> for Failure {
    fn from(error: TchError) -> Self {
        Failure(Error::Torch(error.to_string()))
    }
}

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Failure(error)
    }
}

impl From<Failure> for Error {
    fn from(failure: Failure) -> Self {
        failure.0
    }
}

type Result<T, E = Failure> = std::result::Result<T, E>;

/// A network in training on any device of LibTorch.
pub struct AutogradEngine {
    graph: Graph,
    settings: Settings,
    device: Device,
    parameters: Tensor,
    optimiser: TensorOptimiser,
    data: Option<DeviceRows>,
    /// Which events those are.
    of: RowsOf,
}

/// A dataset's rows, standardised, on the device.
struct DeviceRows {
    features: Tensor,
    labels: Tensor,
    weights: Tensor,
    weight_scale: f64,
}

impl AutogradEngine {
    /// Puts `parameters` on `device`. On the CPU LibTorch's operators run on `threads` threads, 0: as many as LibTorch
    /// is set to now.
    pub fn new(
        graph: Graph,
        parameters: &[f32],
        settings: Settings,
        device: Device,
        threads: usize,
    ) -> Result<Self, Error> {
        if threads > 0 {
            tch::set_num_threads(i32::try_from(threads).unwrap_or(i32::MAX));
        }
        let on_device = || -> Result<(Tensor, TensorOptimiser)> {
            let parameters = Tensor::f_from_slice(parameters)?.f_to_device(device)?.f_set_requires_grad(true)?;
            let optimiser = TensorOptimiser::new(settings.rule(), &parameters)?;
            Ok((parameters, optimiser))
        };
        let (parameters, optimiser) = on_device()?;
        Ok(AutogradEngine { optimiser, graph, settings, device, parameters, data: None, of: RowsOf::Training })
    }

    /// Freezes these parts of the parameters, which are disjoint and in order.
    pub fn with_frozen(mut self, frozen: &[Range<usize>]) -> Result<Self, Error> {
        self.optimiser.leave(frozen).map_err(Failure::from)?;
        Ok(self)
    }

    /// The dataset on the device: sent there at the first call, and at the first one after `forget`.
    fn on_device(&mut self, rows: Rows) -> Result<&DeviceRows> {
        if self.data.is_none() {
            self.data = Some(DeviceRows::new(rows, self.device)?);
        }
        Ok(self.data.as_ref().expect("set just above"))
    }

    /// Sum of weight times loss over the rows `index` of the dataset on the device.
    fn loss_of(&self, data: &DeviceRows, index: &Tensor) -> Result<Tensor> {
        let value = forward(&self.graph, &self.parameters, &data.features.f_index_select(0, index)?)?;
        let (labels, weights) = (data.labels.f_index_select(0, index)?, data.weights.f_index_select(0, index)?);
        let Settings { loss, loss_parameter, .. } = self.settings;
        Ok(row_losses(loss, loss_parameter, &value, &labels)?.f_mul(&weights)?.f_sum(Kind::Float)?)
    }

    /// One optimiser step for the `rows` rows `index`, which are batch number `batch`; returns the sum of weight times loss.
    fn step(
        &mut self,
        data: &DeviceRows,
        index: &Tensor,
        rows: usize,
        batch: usize,
        steps: &dyn Steps,
    ) -> Result<Tensor> {
        let loss = self.loss_of(data, index)?;
        // Reading it from another device would wait for all that was asked of that.
        let value = if self.device == Device::Cpu { loss.f_double_value(&[])? } else { 0.0 };
        let rate = steps.rate(batch, value)?;
        self.parameters.zero_grad();
        loss.f_mul_scalar(data.weight_scale / rows as f64)?.f_backward()?;
        let gradient = self.parameters.f_grad()?;
        no_grad(|| self.optimiser.update(rate, &mut self.parameters, gradient))?;
        Ok(loss.f_detach()?)
    }

    fn train_on(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64> {
        self.on_device(data)?;
        let rows = self.data.take().expect("set just above");
        let index = device_index(order, self.device)?;
        let mut total = Tensor::f_zeros([], (Kind::Double, self.device))?;
        let outcome = (|| -> Result<f64> {
            for (batch, chunk) in order.chunks(self.settings.batch_size).enumerate() {
                let start = (batch * self.settings.batch_size) as i64;
                let part = index.f_narrow(0, start, chunk.len() as i64)?;
                let loss = self.step(&rows, &part, chunk.len(), batch, steps)?;
                total = total.f_add(&loss)?;
            }
            Ok(total.f_double_value(&[])?)
        })();
        self.data = Some(rows);
        outcome
    }
}

impl DeviceRows {
    fn new(rows: Rows, device: Device) -> Result<Self> {
        let send = |values: &[f32]| Tensor::f_from_slice(values)?.f_to_device(device);
        let standardised = |values: &[f32], Scaler { mean, inverse }: &Scaler| {
            let table = send(values)?.f_view([-1, mean.len() as i64])?;
            table.f_sub(&send(mean)?)?.f_mul(&send(inverse)?)
        };
        let labels = match rows.target {
            Some(target) => standardised(rows.labels, target)?,
            None => send(rows.labels)?.f_view([rows.weights.len() as i64, -1])?,
        };
        Ok(DeviceRows {
            features: standardised(rows.features, rows.scaler)?,
            labels,
            weights: send(rows.weights)?,
            weight_scale: rows.weight_scale,
        })
    }
}

impl Engine for AutogradEngine {
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64, Error> {
        Ok(self.train_on(data, order, steps)?)
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64, Error> {
        /// Rows whose activations are on the device at once.
        const BLOCK: usize = 1 << 16;
        self.on_device(data)?;
        let rows = self.data.as_ref().expect("set just above");
        let losses = order.chunks(BLOCK).map(|block| -> Result<f64> {
            let index = device_index(block, self.device)?;
            let loss = no_grad(|| self.loss_of(rows, &index))?;
            Ok(loss.f_double_value(&[])?)
        });
        Ok(losses.sum::<Result<f64>>()?)
    }

    fn turn_to(&mut self, of: RowsOf) {
        if self.of != of {
            self.forget();
        }
        self.of = of;
    }

    fn forget(&mut self) {
        self.data = None;
    }

    fn parameters(&self) -> Result<Vec<f32>, Error> {
        Ok(on_host(&self.parameters)?)
    }

    fn snapshot(&self) -> Result<Snapshot, Error> {
        let (steps, moments) = self.optimiser.state();
        let [first, second] = moments.each_ref().map(on_host);
        Ok(Snapshot {
            parameters: self.parameters()?,
            state: Vec::new(),
            moments: [first?, second?],
            steps: u64::try_from(steps).unwrap_or(0),
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<(), Error> {
        let Snapshot { parameters, moments, steps, .. } = snapshot;
        let send = |values: &[f32]| -> Result<Tensor> { Ok(Tensor::f_from_slice(values)?.f_to_device(self.device)?) };
        let [first, second] = moments.each_ref().map(|moments| send(moments));
        self.optimiser.set_state(i32::try_from(*steps).unwrap_or(i32::MAX), [first?, second?]);
        self.parameters = send(parameters)?.f_set_requires_grad(true).map_err(Failure::from)?;
        Ok(())
    }

    fn describe(&self) -> String {
        let title = BackEnd::Autograd.title();
        match self.device {
            Device::Cuda(index) => format!("{title} on cuda:{index}"),
            _ => format!("{title} on cpu, {} thread(s)", tch::get_num_threads()),
        }
    }
}

fn on_host(tensor: &Tensor) -> Result<Vec<f32>> {
    Ok(Vec::try_from(&tensor.f_detach()?.f_to_device(Device::Cpu)?)?)
}

fn device_index(rows: &[u32], device: Device) -> Result<Tensor> {
    let rows: Vec<i64> = rows.iter().map(|&row| i64::from(row)).collect();
    Ok(Tensor::f_from_slice(&rows)?.f_to_device(device)?)
}

/// The graph's value [rows, outputs] on `x` [rows, inputs], by LibTorch's operators.
pub fn forward(graph: &Graph, parameters: &Tensor, x: &Tensor) -> Result<Tensor> {
    graph.nodes().iter().try_fold(x.shallow_clone(), |value, node| apply(node, parameters, &value))
}

fn apply(node: &Node, parameters: &Tensor, value: &Tensor) -> Result<Tensor> {
    match &node.op {
        Op::Linear { weight, bias } => {
            let shape = [node.outputs as i64, node.inputs as i64];
            let part = |range: &std::ops::Range<usize>| parameters.f_narrow(0, range.start as i64, range.len() as i64);
            Ok(value.f_linear(&part(weight)?.f_view(shape)?, Some(&part(bias)?))?)
        }
        Op::Activation(activation) => activate(*activation, value),
        Op::Custom(_) => {
            let what = "an activation of the user's own beside LibTorch's autograd";
            let remedy = "leave fGradient as it is: Clad differentiates it";
            Err(Error::invalid(what, remedy).into())
        }
    }
}

/// The number of the first linear layer, from 1 on, that gives a number which is not finite for `x` [_, inputs]; none: all are
/// finite.
pub fn first_not_finite(graph: &Graph, parameters: &[f32], x: &[f32]) -> Result<Option<usize>, Error> {
    let find = || -> Result<Option<usize>> {
        let parameters = Tensor::f_from_slice(parameters)?;
        let mut value = Tensor::f_from_slice(x)?.f_view([-1, graph.inputs() as i64])?;
        let mut layer = 0;
        for node in graph.nodes() {
            value = apply(node, &parameters, &value)?;
            layer += usize::from(matches!(node.op, Op::Linear { .. }));
            if value.f_isfinite()?.f_all()?.f_int64_value(&[])? == 0 {
                return Ok(Some(layer));
            }
        }
        Ok(None)
    };
    Ok(find()?)
}

/// The activation by LibTorch's operator.
pub fn activate(activation: Activation, x: &Tensor) -> Result<Tensor> {
    Ok(match activation {
        Activation::Identity => x.shallow_clone(),
        Activation::ReLU => x.f_relu()?,
        Activation::LeakyReLU => x.f_leaky_relu()?,
        Activation::Tanh => x.f_tanh()?,
        Activation::Sigmoid => x.f_sigmoid()?,
        Activation::SiLU => x.f_silu()?,
        Activation::GELU => x.f_gelu("none")?,
        Activation::Softplus => x.f_softplus()?,
    })
}

/// The loss of each row [rows] of `value` [rows, columns]; those over elements are means over the columns.
/// `labels` is [rows, targets], see [`Loss::targets`]. On `parameter` see
/// [`Scalar::loss`](crate::kernels::Scalar::loss).
pub fn row_losses(loss: Loss, parameter: f64, value: &Tensor, labels: &Tensor) -> Result<Tensor> {
    let none = Reduction::None;
    if loss == Loss::SoftmaxCrossEntropy {
        let classes = labels.f_squeeze_dim(1)?.f_to_kind(Kind::Int64)?;
        return Ok(value.f_cross_entropy_loss::<Tensor>(&classes, None, none, -100, parameter)?);
    }
    if loss == Loss::Gaussian {
        let (_, targets) = labels.size2()?;
        let [mean, spread] = [0, targets].map(|first| value.f_narrow(1, first, targets));
        let (distance, spread) = (mean?.f_sub(labels)?, spread?);
        let excess = spread.f_neg()?.f_add_scalar(parameter)?.f_relu()?.f_add_scalar(1.0)?;
        let level = spread.f_clamp_min(parameter)?;
        let pull = distance.f_square()?.f_mul(&level.f_neg()?.f_exp()?)?.f_mul(&excess)?;
        return Ok(level.f_add(&pull)?.f_mul_scalar(0.5)?.f_sum_dim_intlist(1, false, None)?);
    }
    let elements = match loss {
        Loss::BinaryCrossEntropy => {
            let labels = labels.f_mul_scalar(1.0 - parameter)?.f_add_scalar(0.5 * parameter)?;
            value.f_binary_cross_entropy_with_logits::<Tensor>(&labels, None, None, none)?
        }
        Loss::MeanSquaredError => value.f_mse_loss(labels, none)?,
        Loss::Huber => value.f_huber_loss(labels, none, 1.0)?,
        Loss::Focal => {
            // The logarithms of the probabilities of the labels 1 and 0.
            let (positive, negative) = (value.f_log_sigmoid()?, value.f_neg()?.f_log_sigmoid()?);
            let term = |label: Tensor, own: &Tensor, other: &Tensor| {
                label.f_mul(&other.f_mul_scalar(parameter)?.f_exp()?)?.f_mul(&own.f_neg()?)
            };
            let second = term(labels.f_neg()?.f_add_scalar(1.0)?, &negative, &positive)?;
            term(labels.shallow_clone(), &positive, &negative)?.f_add(&second)?
        }
        Loss::Quantile => {
            let distance = labels.f_sub(value)?;
            distance.f_mul_scalar(parameter)?.f_maximum(&distance.f_mul_scalar(parameter - 1.0)?)?
        }
        Loss::SoftmaxCrossEntropy | Loss::Gaussian => unreachable!("returned above"),
    };
    Ok(elements.f_mean_dim(1, false, None)?)
}
