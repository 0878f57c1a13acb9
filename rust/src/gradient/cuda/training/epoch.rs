//! A perceptron that makes the steps of many batches in one kernel.

use super::super::super::Settings;
use super::super::gpu::{Gpu, GpuKernels, GpuMemory, GpuStream, uploaded};
use super::super::program::Kernel;
use super::super::run::Device;
use super::form::{Call, Form, sum_of};
use super::perceptron::{COUNTER_STRIDE, INCLUDES, MOST_IN_CLUSTER, Perceptron, THREADS, TILE_ROWS, Tiling};
use crate::error::{Error, Result};
use crate::graph::Graph;

/// Bytes of shared memory that the text declares itself: a double for each of 512 threads.
const STATIC: usize = 512 * size_of::<f64>();

/// See the module's documentation.
pub struct Epoch {
    perceptron: Perceptron,
    kernels: GpuKernels,
    multiprocessors: usize,
    clusters: usize,
    /// Of each block, or sums of clusters.
    gradients: GpuMemory,
    losses: GpuMemory,
    arrived: GpuMemory,
    /// Blocks of the call that was started, each with a loss.
    blocks: usize,
}

impl Epoch {
    /// The kernels that suit the size of a batch, and whose numbers fit the shared memory of a multiprocessor.
    pub fn fitting(graph: &Graph, settings: &Settings, gpu: &Gpu) -> Result<Self> {
        let limits = gpu.limits();
        let mut why = Error::invalid(
            "the parameters do not fit the shared memory of a multiprocessor",
            "make its layers narrower",
        );
        let possible = |tiling: &Tiling| tiling.cluster == 0 || limits.has_clusters;
        for tiling in tilings(settings.batch_size, limits.multiprocessors).filter(possible) {
            let made = Perceptron::new(graph, settings, tiling)?;
            if made.kernels().iter().all(|kernel| kernel.shared + STATIC <= limits.shared) {
                match Self::new(made, gpu) {
                    Ok(made) => return Ok(made),
                    Err(error) => why = error,
                }
            }
        }
        Err(why)
    }

    /// Compiles these kernels.
    pub fn new(perceptron: Perceptron, gpu: &Gpu) -> Result<Self> {
        let multiprocessors = gpu.limits().multiprocessors;
        let kernels: Vec<&Kernel> = perceptron.kernels().iter().collect();
        let code = gpu.compile(&INCLUDES, &kernels)?;
        let loaded = gpu.load(&kernels, &code)?;
        Ok(Epoch {
            clusters: Self::clusters(&loaded, &perceptron, gpu)?,
            kernels: loaded,
            // What lies in the gaps is never written, but read. Clusters have two halves.
            gradients: uploaded(gpu, &vec![0.0_f32; 2 * multiprocessors * perceptron.length()])?,
            losses: gpu.memory(multiprocessors * size_of::<f64>())?,
            arrived: gpu.memory(MOST_IN_CLUSTER * COUNTER_STRIDE * size_of::<u32>())?,
            perceptron,
            multiprocessors,
            blocks: 0,
        })
    }

    /// Clusters, or single blocks, that train at once.
    fn clusters(kernels: &GpuKernels, perceptron: &Perceptron, gpu: &Gpu) -> Result<usize> {
        let (multiprocessors, parts) = (gpu.limits().multiprocessors, gpu.parts());
        let [train, _] = perceptron.kernels();
        // Single blocks are no clusters to the driver: each has a multiprocessor.
        let most = match train.cluster {
            0 | 1 => multiprocessors,
            // Those that the whole GPU has, and the others train at the same time.
            size => (kernels.clusters(train, THREADS as u32)? / parts).min(multiprocessors / size as usize),
        };
        if most > 0 {
            return Ok(most);
        }
        Err(Error::invalid("no cluster of blocks fits the GPU", "run it on LibTorch"))
    }

    /// Blocks for batches of up to this many rows.
    fn blocks_for(&self, trains: bool, rows: usize) -> usize {
        let tiles = rows.div_ceil(self.perceptron.tiling().rows).max(1);
        if !trains {
            return tiles.min(self.multiprocessors);
        }
        let size = self.perceptron.tiling().cluster.max(1);
        tiles.div_ceil(size).min(self.clusters) * size
    }
}

impl Form for Epoch {
    fn length(&self) -> usize {
        self.perceptron.length()
    }

    fn spread(&self, flat: &[f32]) -> Vec<f32> {
        self.perceptron.spread(flat)
    }

    fn gather(&self, own: &[f32]) -> Vec<f32> {
        self.perceptron.gather(own)
    }

    fn evaluated_rows(&self) -> usize {
        usize::MAX
    }

    fn start(&mut self, trains: bool, call: &Call) -> Result<()> {
        self.blocks = 0;
        if call.counts.is_empty() {
            return Ok(());
        }
        let blocks = self.blocks_for(trains, call.counts.iter().copied().max().unwrap_or(0));
        let [train, evaluate] = self.perceptron.kernels();
        let (dataset, stream) = (call.dataset, call.stream.number());
        let [parameters, first, second] = call.state;
        self.arrived.clear(stream)?;
        self.losses.clear(stream)?;
        let addresses = [
            dataset.features.address(),
            dataset.labels.address(),
            dataset.weights.address(),
            call.order,
            call.batches,
            call.counts.len(),
            parameters,
            first,
            second,
            self.gradients.address(),
            self.losses.address(),
            self.arrived.address(),
        ];
        let kernel = if trains { train } else { evaluate };
        self.kernels.on_stream(stream).launch(kernel, [blocks as u32, THREADS as u32], &addresses)?;
        self.blocks = blocks;
        Ok(())
    }

    fn finish(&mut self, stream: &GpuStream) -> Result<f64> {
        stream.synchronise()?;
        sum_of(&self.losses, self.blocks)
    }

    fn describe(&self) -> String {
        let Tiling { rows, cluster } = self.perceptron.tiling();
        let (size, precision) = (cluster.max(1), self.perceptron.precision().name());
        format!("many steps in one kernel, tiles of {rows} rows, clusters of {size}, products in {precision}")
    }
}

/// Possible divisions of batches of `batch` rows into blocks, the best first: tiles with the fewest rows that still
/// give each block one tile of a batch, in clusters if the gradient has room there. Clusters leave some multiprocessors
/// idle, a fifth on an H100.
fn tilings(batch: usize, multiprocessors: usize) -> impl Iterator<Item = Tiling> {
    let is_enough = move |rows: &usize| batch.div_ceil(*rows) <= multiprocessors * 4 / 5;
    let wanted = TILE_ROWS.into_iter().find(is_enough).unwrap_or(TILE_ROWS[2]);
    let fewer = TILE_ROWS.into_iter().rev().filter(move |&rows| rows <= wanted);
    let clustered = fewer.clone().map(move |rows| {
        let cluster = batch.div_ceil(rows).next_power_of_two().min(MOST_IN_CLUSTER);
        Tiling { rows, cluster }
    });
    clustered.chain(fewer.map(|rows| Tiling { rows, cluster: 0 }))
}
