//! Small seeded datasets and options.

use cladtorch::columns::Column;
use cladtorch::dataset::Dataset;
use cladtorch::graph::Schedule;
use cladtorch::train::Options;
use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

/// A scalar column.
pub fn column(name: &str) -> Column {
    Column::new(name, 1)
}

/// `rows` events of columns x and y in the square from -1 to 1, label 1 inside the circle of radius 0.8, weights from
/// 0.5 to 1.5.
pub fn circle(rows: usize, seed: u64) -> Dataset {
    let mut generator = ChaCha8Rng::seed_from_u64(seed);
    let mut data = Dataset::new(&[column("x"), column("y")]).unwrap();
    data.begin("circle").unwrap();
    for _ in 0..rows {
        let [x, y] = [0; 2].map(|_| generator.random::<f32>() * 2.0 - 1.0);
        let inside = x * x + y * y < 0.64;
        data.append(&[x, y], &[f32::from(u8::from(inside))], &[0.5 + generator.random::<f32>()]).unwrap();
    }
    data.commit().unwrap();
    data
}

/// The options of a plain fit.
pub fn spec() -> Options {
    Options {
        epochs: 5,
        batch_size: 64,
        learning_rate: 1e-2,
        schedule: Schedule::Constant,
        threads: 2,
        ..Options::default()
    }
}
