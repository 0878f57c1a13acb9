//! Networks in training on a GPU.

use std::sync::Arc;

use super::super::super::batches::ranges;
use super::super::super::{BackEnd, Engine, Rows, Settings, Snapshot, Steps};
use super::super::gpu::{Gpu, GpuMemory, GpuStream, Plain, downloaded, uploaded};
use super::dataset::DeviceDataset;
use super::epoch::Epoch;
use super::form::{Call, Form};
use super::start::Start;
use super::stepwise::Stepwise;
use crate::error::{Error, Result};
use crate::graph::{Graph, Module, Precision};

/// Bytes of `Batch` in `step.hpp`.
const BATCH: usize = 32;

/// A network in training on a GPU.
pub struct CudaEngine {
    gpu: Gpu,
    stream: GpuStream,
    form: Box<dyn Form>,
    settings: Settings,
    targets: usize,
    /// Parameters and both moments, as the kernels have them.
    state: [GpuMemory; 3],
    steps: u64,
    data: Option<DeviceDataset>,
    /// Row numbers and batches of a call, whose memory stays.
    order: Option<GpuMemory>,
    batches: Option<GpuMemory>,
}

impl CudaEngine {
    /// Trains `module` from there; else says why it cannot. If it is the chain `graph`, that is small, in float32, and all of
    /// its parameters simply follow the gradient of one of the library's losses, an epoch is one kernel.
    pub fn new(
        module: &Arc<Module>,
        graph: Option<&Graph>,
        start: Start,
        settings: Settings,
        gpu: Gpu,
    ) -> Result<Self> {
        let is_simple = start.frozen.is_empty() && start.loss.is_none() && settings.precision == Precision::Float32;
        let whole = graph.filter(|_| is_simple).map(|graph| Epoch::fitting(graph, &settings, &gpu));
        let targets = settings.objective(start.loss.map(|own| &**own)).targets(module.outputs());
        let form: Box<dyn Form> = match whole {
            Some(Ok(epoch)) => Box::new(epoch),
            _ => Box::new(Stepwise::new(module, start, settings, &gpu)?),
        };
        Self::of(form, targets, start.parameters, settings, gpu)
    }

    /// Trains by these kernels.
    pub fn of(form: Box<dyn Form>, targets: usize, parameters: &[f32], settings: Settings, gpu: Gpu) -> Result<Self> {
        let zeros = vec![0.0; form.length()];
        let wide = |numbers: &[f32]| uploaded(&gpu, numbers);
        Ok(CudaEngine {
            state: [wide(&form.spread(parameters))?, wide(&zeros)?, wide(&zeros)?],
            stream: gpu.stream()?,
            steps: 0,
            data: None,
            order: None,
            batches: None,
            form,
            settings,
            targets,
            gpu,
        })
    }

    /// Runs batches of `counts` rows of `order`, each as [`batch`](Self::batch) says.
    fn run(
        &mut self,
        trains: bool,
        data: Rows,
        order: &[u32],
        batches: &[[u8; BATCH]],
        counts: &[usize],
    ) -> Result<f64> {
        let dataset = match self.data.take() {
            Some(dataset) => dataset,
            None => {
                self.form.check_labels(data.labels)?;
                DeviceDataset::new(&self.gpu, data, self.targets)?
            }
        };
        let order = put(&self.gpu, &mut self.order, order)?;
        let batches = put(&self.gpu, &mut self.batches, &batches.concat())?;
        let state = self.state.each_ref().map(GpuMemory::address);
        let call = Call { dataset: &dataset, order, batches, counts, state, stream: &self.stream };
        let loss = self.form.run(trains, &call);
        self.data = Some(dataset);
        loss
    }

    /// The description of a batch for the kernels: rows from `first` on, whose update is number `step` from 1 on.
    fn batch(&self, scale: f64, rate: f64, step: u64, first: usize, count: usize) -> [u8; BATCH] {
        let factors = self.settings.rule().factors(rate, step);
        let mut bytes = [0; BATCH];
        bytes[..8].copy_from_slice(&scale.to_le_bytes());
        let numbers = [factors.rate, factors.rescale, factors.shrink].map(f32::to_le_bytes);
        let rows = [first as u32, count as u32, (step - 1) as u32].map(u32::to_le_bytes);
        for (to, from) in bytes[8..].chunks_exact_mut(4).zip(numbers.iter().chain(&rows)) {
            to.copy_from_slice(from);
        }
        bytes
    }

    fn on_host(&self, memory: &GpuMemory) -> Result<Vec<f32>> {
        Ok(self.form.gather(&downloaded(memory, self.form.length())?))
    }
}

/// Uploads the numbers, to the existing memory if it is large enough, and returns their address.
fn put<T: Plain>(gpu: &Gpu, memory: &mut Option<GpuMemory>, numbers: &[T]) -> Result<usize> {
    let place = match memory.take().filter(|memory| memory.bytes() >= size_of_val(numbers)) {
        Some(memory) => memory,
        None => gpu.memory(size_of_val(numbers))?,
    };
    place.upload_at(0, numbers)?;
    Ok(memory.insert(place).address())
}

impl Engine for CudaEngine {
    fn train(&mut self, data: Rows, order: &[u32], steps: &dyn Steps) -> Result<f64> {
        let (mut batches, mut counts, mut failed) = (Vec::new(), Vec::new(), None);
        for (number, rows) in ranges(order.len(), self.settings.batch_size, self.takes_one()).enumerate() {
            match steps.rate(number, 0.0) {
                Ok(rate) => {
                    let (scale, step) = (data.weight_scale / rows.len() as f64, self.steps + 1 + number as u64);
                    batches.push(self.batch(scale, rate, step, rows.start, rows.len()));
                    counts.push(rows.len());
                }
                Err(error) => {
                    failed = Some(error);
                    break;
                }
            }
        }
        let loss = self.run(true, data, &order[..counts.iter().sum()], &batches, &counts)?;
        self.steps += batches.len() as u64;
        failed.map_or(Ok(loss), Err)
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        let size = self.form.evaluated_rows().min(order.len().max(1));
        let ranges: Vec<_> = ranges(order.len(), size, true).collect();
        let batches: Vec<_> = ranges.iter().map(|rows| self.batch(0.0, 0.0, 1, rows.start, rows.len())).collect();
        let counts: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        self.run(false, data, order, &batches, &counts)
    }

    fn forget(&mut self) {
        self.data = None;
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.on_host(&self.state[0])
    }

    fn state(&self) -> Vec<f32> {
        // The next call that can fail reports a lost device.
        self.form.state().unwrap_or_default()
    }

    fn batches(&self) -> u64 {
        self.steps
    }

    fn snapshot(&self) -> Result<Snapshot> {
        let [parameters, first, second] = self.state.each_ref().map(|memory| self.on_host(memory));
        Ok(Snapshot {
            parameters: parameters?,
            state: self.form.state()?,
            moments: [first?, second?],
            steps: self.steps,
        })
    }

    fn restore(&mut self, snapshot: &Snapshot) -> Result<()> {
        let Snapshot { parameters, state, moments: [first, second], steps } = snapshot;
        if [first, second].iter().any(|moments| moments.len() != parameters.len()) {
            return Err(Error::invalid(
                format!("moments of {} and {} parameters for {}", first.len(), second.len(), parameters.len()),
                "pass the moments of the same network",
            ));
        }
        for (memory, numbers) in self.state.iter().zip([parameters, first, second]) {
            memory.upload(&self.form.spread(numbers))?;
        }
        self.form.set_state(state)?;
        self.steps = *steps;
        Ok(())
    }

    fn takes_one(&self) -> bool {
        self.form.takes_one()
    }

    fn describe(&self) -> String {
        format!("{} on cuda:{}, {}", BackEnd::Cuda.title(), self.gpu.index(), self.form.describe())
    }
}
