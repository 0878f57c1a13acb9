//! Networks in training on a GPU.

use std::mem;
use std::sync::Arc;

use super::super::super::batches::ranges;
use super::super::super::{BackEnd, Engine, Rows, RowsOf, Settings, Snapshot, Steps};
use super::super::gpu::{Gpu, GpuMemory, GpuStream, Plain, downloaded, uploaded};
use super::dataset::DeviceDataset;
use super::epoch::Epoch;
use super::form::{Call, Form};
use super::kept::Kept;
use super::start::Start;
use super::stepwise::Stepwise;
use super::tensor_cores;
use crate::error::{Error, Result};
use crate::graph::{Graph, Module};

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
    data: Kept<Arc<DeviceDataset>>,
    /// What the steps that may still run read.
    running: Option<Input>,
    /// Row numbers and batches of calls that are done, whose memory stays: giving it back would wait for whatever runs on the GPU.
    spare: Vec<[GpuMemory; 2]>,
    /// Of steps that are done, which no call has returned.
    loss: f64,
}

/// What a call reads.
struct Input {
    dataset: Arc<DeviceDataset>,
    /// Row numbers and batches.
    lists: [GpuMemory; 2],
}

impl CudaEngine {
    /// Trains `module` from there; else says why it cannot. If it is the chain `graph`, that is small, and all of its parameters
    /// simply follow the gradient of one of the library's losses, an epoch is one kernel.
    pub fn new(
        module: &Arc<Module>,
        graph: Option<&Graph>,
        start: Start,
        settings: Settings,
        gpu: Gpu,
    ) -> Result<Self> {
        tensor_cores::check(settings.precision, &gpu)?;
        let is_simple = start.frozen.is_empty() && start.loss.is_none();
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
            data: Kept::default(),
            running: None,
            spare: Vec::new(),
            loss: 0.0,
            form,
            settings,
            targets,
            gpu,
        })
    }

    /// Starts batches of `counts` rows, each as [`batch`](Self::batch) says. What they read is sent while the steps of the call before
    /// may still run. If memory is short, what those read and the copy of the other events make room.
    fn launch(
        &mut self,
        trains: bool,
        data: Rows,
        order: &[u32],
        batches: &[[u8; BATCH]],
        counts: &[usize],
    ) -> Result<()> {
        let input = match self.input(data, order, batches) {
            Err(_) if self.running.is_some() || self.data.make_room() => {
                self.drain()?;
                self.data.make_room();
                self.input(data, order, batches)?
            }
            made => made?,
        };
        self.drain()?;
        let started = match self.start(trains, &input, counts) {
            Err(_) if self.data.make_room() => self.start(trains, &input, counts),
            started => started,
        };
        // Where it failed a part may run.
        if started.is_ok() || self.stream.synchronise().is_err() {
            self.running = Some(input);
        }
        started
    }

    fn input(&mut self, data: Rows, order: &[u32], batches: &[[u8; BATCH]]) -> Result<Input> {
        let CudaEngine { data: kept, form, gpu, targets, .. } = self;
        let dataset = kept.copy(|| {
            form.check_labels(data.labels)?;
            Ok(Arc::new(DeviceDataset::new(gpu, data, *targets)?))
        });
        let dataset = dataset?;
        let [first, second] = self.spare.pop().map_or([None, None], |spare| spare.map(Some));
        Ok(Input { dataset, lists: [put(&self.gpu, first, order)?, put(&self.gpu, second, &batches.concat())?] })
    }

    fn start(&mut self, trains: bool, input: &Input, counts: &[usize]) -> Result<()> {
        let [order, batches] = input.lists.each_ref().map(GpuMemory::address);
        let state = self.state.each_ref().map(GpuMemory::address);
        let call = Call { dataset: &input.dataset, order, batches, counts, state, stream: &self.stream };
        self.form.start(trains, &call)
    }

    /// Waits for what runs; returns its loss.
    fn finish(&mut self) -> Result<f64> {
        let Some(input) = self.running.take() else { return Ok(0.0) };
        let loss = self.form.finish(&self.stream);
        self.spare.push(input.lists);
        loss
    }

    /// Waits for the steps of earlier calls.
    fn drain(&mut self) -> Result<()> {
        self.loss += self.finish()?;
        Ok(())
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

/// The numbers in a GPU's memory, in the existing one if that is large enough.
fn put<T: Plain>(gpu: &Gpu, memory: Option<GpuMemory>, numbers: &[T]) -> Result<GpuMemory> {
    let place = match memory.filter(|memory| memory.bytes() >= size_of_val(numbers)) {
        Some(memory) => memory,
        None => gpu.memory(size_of_val(numbers))?,
    };
    place.upload_at(0, numbers)?;
    Ok(place)
}

impl Drop for CudaEngine {
    fn drop(&mut self) {
        // Best effort: what runs reads memory that is given back now.
        let _ = self.stream.synchronise();
    }
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
        self.launch(true, data, &order[..counts.iter().sum()], &batches, &counts)?;
        self.steps += batches.len() as u64;
        failed.map_or_else(|| Ok(mem::take(&mut self.loss)), Err)
    }

    fn settle(&mut self) -> Result<f64> {
        self.drain()?;
        Ok(mem::take(&mut self.loss))
    }

    fn evaluate(&mut self, data: Rows, order: &[u32]) -> Result<f64> {
        self.drain()?;
        let size = self.form.evaluated_rows().min(order.len().max(1));
        let ranges: Vec<_> = ranges(order.len(), size, true).collect();
        let batches: Vec<_> = ranges.iter().map(|rows| self.batch(0.0, 0.0, 1, rows.start, rows.len())).collect();
        let counts: Vec<usize> = ranges.iter().map(ExactSizeIterator::len).collect();
        self.launch(false, data, order, &batches, &counts)?;
        self.finish()
    }

    fn turn_to(&mut self, of: RowsOf) {
        self.data.turn_to(of);
    }

    fn forget(&mut self) {
        self.data.forget();
    }

    fn parameters(&self) -> Result<Vec<f32>> {
        self.stream.synchronise()?;
        self.on_host(&self.state[0])
    }

    fn state(&self) -> Vec<f32> {
        // The next call that can fail reports a lost device.
        self.stream.synchronise().and_then(|()| self.form.state()).unwrap_or_default()
    }

    fn batches(&self) -> u64 {
        self.steps
    }

    fn snapshot(&self) -> Result<Snapshot> {
        self.stream.synchronise()?;
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
        self.drain()?;
        self.loss = 0.0;
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
