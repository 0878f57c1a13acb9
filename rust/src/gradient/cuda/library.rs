//! The library of products on one GPU: opened when the first product asks for it, and used only if its sums are right there.

use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use super::cublas::{ASIDE, Cublas, Places};
use super::driver::Context;
use super::gpu::{Gpu, GpuMemory, downloaded, uploaded};
use super::multiply::{Matrix, MatrixProduct, Numbers};
use crate::error::{Error, Result};

/// Where the library lies.
pub(super) enum Place {
    /// Nowhere: kernels multiply.
    Nowhere,
    /// Beside LibTorch, or on the linker's path.
    Beside,
    /// There.
    At(PathBuf),
}

/// See the module's documentation.
pub(super) struct Multiplier {
    place: Place,
    opened: Mutex<Option<Result<Arc<Cublas>, String>>>,
}

impl Multiplier {
    pub fn new(place: Place) -> Self {
        Multiplier { place, opened: Mutex::default() }
    }

    /// The library, or why there is none.
    pub fn get(&self, gpu: &Gpu, context: &Arc<Context>) -> Result<Arc<Cublas>, String> {
        let mut opened = self.opened.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = &*opened {
            return known.clone();
        }
        // Too little memory now is no reason for later.
        let aside = gpu.memory(ASIDE).map_err(|error| error.to_string())?;
        let made = self.open(gpu, context, &aside).map_err(|error| error.to_string());
        opened.insert(made).clone()
    }

    fn open(&self, gpu: &Gpu, context: &Arc<Context>, aside: &GpuMemory) -> Result<Arc<Cublas>> {
        let mut library = match &self.place {
            Place::Nowhere => return Err(Error::Internal("no library of products was asked for".into())),
            Place::Beside => Cublas::find(context)?,
            Place::At(path) => Cublas::open(path, context)?,
        };
        for numbers in [Numbers::Float, Numbers::Double] {
            check(gpu, &library, numbers, aside)?;
        }
        for numbers in Numbers::ROUNDED {
            if let Err(error) = check(gpu, &library, numbers, aside) {
                library.refuse(numbers, error.to_string());
            }
        }
        Ok(Arc::new(library))
    }
}

/// Multiplies matrices that are stored in several ways, one product after another, as part of a graph.
fn check(gpu: &Gpu, library: &Cublas, numbers: Numbers, aside: &GpuMemory) -> Result<()> {
    for product in products(numbers) {
        // Older GPUs do not round, and algorithms that round may want other places.
        if !Numbers::ROUNDED.contains(&numbers) || library.check(&product).is_ok() {
            run(gpu, library, &product, aside)?;
        }
        let with_bias = MatrixProduct { bias: Some(3), ..product };
        if library.check(&with_bias).is_ok() {
            run(gpu, library, &with_bias, aside)?;
        }
    }
    Ok(())
}

/// Every order of the factors, with gaps; one matrix for several others; matrices whose rows alternate; and sums that are so long that a
/// library shares them out.
fn products(numbers: Numbers) -> Vec<MatrixProduct> {
    let sizes = [33, 65, 47];
    let gaps = |start, is_transposed, [rows, columns]: [usize; 2]| {
        let [outer, inner] = if is_transposed { [columns, rows] } else { [rows, columns] };
        Matrix { start, is_transposed, leading: inner + 3, stride: outer * (inner + 3) + 5 }
    };
    let product = |[batches, m, n, k]: [usize; 4], matrices, adds| MatrixProduct {
        numbers,
        sizes: [batches, m, n, k],
        matrices,
        adds,
        bias: None,
    };
    let [m, n, k] = sizes;
    let ordered = |way: usize| {
        let matrices = [gaps(0, way % 2 == 1, [m, k]), gaps(1, way >= 2, [k, n]), gaps(2, false, [m, n])];
        product([if way.is_multiple_of(3) { 1 } else { 3 }, m, n, k], matrices, way.is_multiple_of(2))
    };
    let [a, b, c] = ordered(0).matrices;
    let alternating = |columns: usize| Matrix { start: 0, is_transposed: false, leading: 3 * columns, stride: columns };
    let long = |[rows, columns]: [usize; 2]| Matrix {
        start: 0,
        is_transposed: false,
        leading: columns,
        stride: rows * columns,
    };
    let others = [
        product([3, m, n, k], [a, Matrix { stride: 0, ..b }, c], false),
        product([3, m, n, k], [k, n, n].map(alternating), false),
        product([1, 64, 64, 4096], [[64, 4096], [4096, 64], [64, 64]].map(long), true),
    ];
    (0..4).map(ordered).chain(others).collect()
}

/// Compares this product with sums on the host.
fn run(gpu: &Gpu, library: &Cublas, product: &MatrixProduct, aside: &GpuMemory) -> Result<()> {
    let &MatrixProduct { sizes: [batches, m, n, k], matrices: [a, b, c], adds, bias, .. } = product;
    let is_double = product.numbers == Numbers::Double;
    // Where factors are rounded small integers, which never are.
    let is_rounded = Numbers::ROUNDED.contains(&product.numbers);
    let number = |wave: f64| match is_rounded {
        true => (wave * 8.0).round(),
        false if is_double => wave,
        false => f64::from(wave as f32),
    };
    let wave =
        |count: usize, step: f64| (0..count).map(|i| number((i as f64 * step + 0.3).sin())).collect::<Vec<f64>>();
    let length = |matrix: &Matrix, [rows, columns]: [usize; 2]| {
        let outer = if matrix.is_transposed { columns } else { rows };
        matrix.start + batches * matrix.stride + outer * matrix.leading
    };
    let numbers = [wave(length(&a, [m, k]), 0.37), wave(length(&b, [k, n]), 0.73), wave(length(&c, [m, n]), 0.19)];
    let vector = wave(bias.unwrap_or(0) + n, 0.11);
    let [of_a, of_b, of_c] = numbers.each_ref().map(|numbers| upload(gpu, numbers, is_double));
    let (memory, of_bias) = ([of_a?, of_b?, of_c?], upload(gpu, &vector, is_double)?);
    let places =
        Places { matrices: memory.each_ref().map(GpuMemory::address), bias: of_bias.address(), aside: aside.address() };
    let stream = gpu.stream()?;
    let recording = stream.captured(|| library.multiply(product, places, stream.number()))?;
    stream.replay(&recording)?;
    stream.synchronise()?;
    let mut expected = numbers[2].clone();
    let at = |matrix: &Matrix, batch: usize, [row, column]: [usize; 2]| {
        let [outer, inner] = if matrix.is_transposed { [column, row] } else { [row, column] };
        matrix.start + batch * matrix.stride + outer * matrix.leading + inner
    };
    for (batch, i, j) in (0..batches * m * n).map(|place| (place / (m * n), place / n % m, place % n)) {
        let terms = (0..k).map(|l| numbers[0][at(&a, batch, [i, l])] * numbers[1][at(&b, batch, [l, j])]);
        let place = at(&c, batch, [i, j]);
        let [kept, added] = [if adds { expected[place] } else { 0.0 }, bias.map_or(0.0, |start| vector[start + j])];
        expected[place] = kept + terms.sum::<f64>() + added;
    }
    // More than sums of rounded terms can differ by, and much less than by factors of fewer digits.
    let bound = if is_rounded { 0.0 } else { 4.0 * k as f64 * product.numbers.rounding() };
    let got = download(&memory[2], expected.len(), is_double)?;
    // Not a number is no small difference either.
    if got.iter().zip(&expected).all(|(got, expected)| (got - expected).abs() <= bound) {
        return Ok(());
    }
    Err(Error::invalid(format!("the sums of cuBLASLt are wrong here ({product})"), "please report it"))
}

/// In the type of the product.
fn upload(gpu: &Gpu, numbers: &[f64], is_double: bool) -> Result<GpuMemory> {
    match is_double {
        true => uploaded(gpu, numbers),
        false => uploaded(gpu, &numbers.iter().map(|&number| number as f32).collect::<Vec<_>>()),
    }
}

fn download(memory: &GpuMemory, count: usize, is_double: bool) -> Result<Vec<f64>> {
    match is_double {
        true => downloaded(memory, count),
        false => Ok(downloaded::<f32>(memory, count)?.into_iter().map(f64::from).collect()),
    }
}
