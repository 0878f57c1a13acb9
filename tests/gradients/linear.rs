//! The linear layer and its pullback, the only derivative written by hand: by BLAS and by register tiles on packed
//! matrices.

use super::*;
use cladtorch::graph::Activation;

/// Rows, inputs, outputs: one row, one output, odd sizes, a whole tile, panels cut off at every edge.
const SHAPES: [[usize; 3]; 15] = [
    [13, 300, 18],
    [6, 8, 8],
    [70, 30, 40],
    [1, 1, 1],
    [1, 28, 64],
    [64, 28, 1],
    [1, 17, 1],
    [2, 2, 2],
    [7, 5, 3],
    [64, 28, 64],
    [33, 31, 17],
    [5, 1, 4],
    [4, 33, 2],
    [64, 16, 16],
    [3, 129, 1],
];

/// By BLAS (the reference), and by register tiles.
const WAYS: [Way; 2] = [Way::Blas, Way::Tiles];

#[derive(Clone, Copy, Debug)]
enum Way {
    Blas,
    Tiles,
}

const IDENTITY: u8 = Activation::Identity as u8;

/// Initial contents that must be overwritten.
fn undefined<T: Scalar>(length: usize) -> Vec<T> {
    vec![T::from_f64(f64::NAN); length]
}

fn packed<T: Scalar>(rows: usize, columns: usize, dense: &[T]) -> Vec<T> {
    let mut packed = undefined(rows * T::padded(columns));
    T::pack_matrix(rows, columns, dense, &mut packed);
    packed
}

fn layer<T: Scalar>(inputs: usize, outputs: usize, w: &[T], b: &[T]) -> Vec<T> {
    let mut layer = undefined(T::layer_length(inputs, outputs));
    T::pack_layer(inputs, outputs, w, b, &mut layer);
    layer
}

struct Linear {
    way: Way,
    shape: [usize; 3],
    x: Vec<f64>,
    w: Vec<f64>,
    b: Vec<f64>,
    dz: Vec<f64>,
}

impl Linear {
    fn new(way: Way, shape: [usize; 3]) -> Self {
        let [rows, inputs, outputs] = shape;
        let (x, w) = (numbers(rows * inputs, 6), numbers(outputs * inputs, 7));
        Self { way, shape, x, w, b: numbers(outputs, 8), dz: numbers(rows * outputs, 9) }
    }

    fn forward<T: Scalar>(&self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let [rows, inputs, outputs] = self.shape;
        let mut z = vec![T::default(); rows * outputs];
        let (x, w, b) = (cast::<T>(x), cast::<T>(w), cast::<T>(b));
        match self.way {
            Way::Blas => T::linear(rows, inputs, outputs, &x, &w, &b, &mut z),
            Way::Tiles => {
                let (x, layer) = (packed(rows, inputs, &x), layer(inputs, outputs, &w, &b));
                let mut z_packed = undefined(rows * T::padded(outputs));
                T::packed_linear(IDENTITY, rows, inputs, outputs, &x, &layer, &mut z_packed);
                T::unpack_matrix(rows, outputs, &z_packed, &mut z);
            }
        }
        widen(&z)
    }

    /// dx, dw and db, the latter two added to ones as the kernel should.
    fn pullback<T: Scalar>(&self) -> [Vec<f64>; 3] {
        let [rows, inputs, outputs] = self.shape;
        let (x, w, dz) = (cast::<T>(&self.x), cast::<T>(&self.w), cast::<T>(&self.dz));
        let mut dx = undefined(x.len());
        let [mut dw, mut db] = [w.len(), outputs].map(|size| vec![T::from_f64(1.0); size]);
        match self.way {
            Way::Blas => {
                let (mut dw_alone, mut db_alone) = (dw.clone(), db.clone());
                T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, Some(&mut dx), &mut dw, &mut db);
                T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, None, &mut dw_alone, &mut db_alone);
                assert!(dw == dw_alone && db == db_alone, "without dx the others must be the same");
            }
            Way::Tiles => {
                let (x, dz) = (packed(rows, inputs, &x), packed(rows, outputs, &dz));
                let mut transposed = undefined(T::transposed_length(inputs, outputs));
                T::transpose_layer(inputs, outputs, &layer(inputs, outputs, &w, &cast(&self.b)), &mut transposed);
                let mut dx_packed = undefined(x.len());
                let mut summed = layer(inputs, outputs, &dw, &db);
                let (mut alone, mut fresh) = (summed.clone(), undefined(summed.len()));
                let pullback = |sum, dx, dlayer: &mut _| {
                    T::packed_pullback(IDENTITY, self.shape, &x, &transposed, &dz, sum, dx, false, dlayer);
                };
                pullback(true, Some(&mut dx_packed), &mut summed);
                pullback(true, None, &mut alone);
                assert!(summed == alone, "without dx the others must be the same");
                pullback(false, None, &mut fresh);
                T::unpack_matrix(rows, inputs, &dx_packed, &mut dx);
                let (before, mut twice) = (dx.clone(), dx_packed.clone());
                T::packed_pullback(
                    IDENTITY,
                    self.shape,
                    &x,
                    &transposed,
                    &dz,
                    false,
                    Some(&mut twice),
                    true,
                    &mut fresh,
                );
                T::unpack_matrix(rows, inputs, &twice, &mut dx);
                let doubled: Vec<f64> = widen(&before).iter().map(|d| 2.0 * d).collect();
                compare(&widen(&dx), &doubled, 1e-6, 1e-6).expect("dx added to itself");
                T::unpack_matrix(rows, inputs, &dx_packed, &mut dx);
                T::unpack_layer(inputs, outputs, &fresh, &mut dw, &mut db);
                let [fresh_w, fresh_b] = [widen(&dw), widen(&db)];
                T::unpack_layer(inputs, outputs, &summed, &mut dw, &mut db);
                for (fresh, summed) in [(fresh_w, widen(&dw)), (fresh_b, widen(&db))] {
                    let fresh: Vec<f64> = fresh.iter().map(|d| d + 1.0).collect();
                    compare(&fresh, &summed, 1e-5, 1e-5).expect("without a sum to start from");
                }
            }
        }
        [dx, dw, db].map(|d| widen(&d))
    }

    fn torch(&self) -> (Vec<f64>, [Vec<f64>; 3]) {
        let [rows, inputs, outputs] = self.shape;
        let (x, w, b) = (leaf(&self.x, [rows, inputs]), leaf(&self.w, [outputs, inputs]), leaf(&self.b, [1, outputs]));
        let z = x.matmul(&w.transpose(0, 1)) + &b;
        (&z * tensor(&self.dz, [rows, outputs])).sum(Kind::Double).backward();
        (values(&z), [x.grad(), &w.grad() + 1.0, &b.grad() + 1.0].map(|d| values(&d)))
    }

    /// `pulled` (dx, dw, db) against LibTorch and against differences of the layer.
    fn check(&self, pulled: &[Vec<f64>; 3]) -> Checked {
        let along = |z: Vec<f64>| z.iter().zip(&self.dz).map(|(z, d)| z * d).sum::<f64>();
        let (x, w, b) = (&self.x, &self.w, &self.b);
        let plus_one = |d: Vec<f64>| d.iter().map(|d| d + 1.0).collect();
        let numeric: [Vec<f64>; 3] = [
            central_difference(|x| along(self.forward::<f64>(x, w, b)), x),
            plus_one(central_difference(|w| along(self.forward::<f64>(x, w, b)), w)),
            plus_one(central_difference(|b| along(self.forward::<f64>(x, w, b)), b)),
        ];
        let (_, torch) = self.torch();
        for (i, name) in ["dx", "dw", "db"].into_iter().enumerate() {
            let place = |e| format!("{name} of {:?}: {e}", self.shape);
            compare(&pulled[i], &torch[i], 1e-13, 1e-13).map_err(place)?;
            compare(&pulled[i], &numeric[i], 1e-7, 1e-7).map_err(place)?;
        }
        Ok(())
    }
}

fn cases() -> impl Iterator<Item = (Way, [usize; 3])> {
    WAYS.into_iter().flat_map(|way| SHAPES.map(|shape| (way, shape)))
}

#[test]
fn linear_layers_and_their_pullbacks_are_right() {
    for (way, shape) in cases() {
        let layer = Linear::new(way, shape);
        let (z, _) = layer.torch();
        compare(&layer.forward::<f64>(&layer.x, &layer.w, &layer.b), &z, 1e-13, 1e-13).unwrap();
        layer.check(&layer.pullback::<f64>()).unwrap();
        let (single, double) = (layer.pullback::<f32>(), layer.pullback::<f64>());
        for (single, double) in single.iter().zip(&double) {
            compare(single, double, 1e-5, 1e-5).unwrap_or_else(|e| panic!("float, {way:?}, {shape:?}: {e}"));
        }
    }
}

#[test]
fn a_linear_layer_of_zeros_is_right() {
    for (way, shape) in cases() {
        let mut layer = Linear::new(way, shape);
        layer.w.fill(0.0);
        layer.b.fill(0.0);
        assert!(layer.forward::<f64>(&layer.x, &layer.w, &layer.b).iter().all(|&z| z == 0.0));
        layer.check(&layer.pullback::<f64>()).unwrap();
    }
}

#[test]
fn a_wrong_linear_pullback_is_caught() {
    for (way, shape) in cases().filter(|(_, shape)| shape.iter().product::<usize>() < 1000) {
        let layer = Linear::new(way, shape);
        for part in 0..3 {
            for error in [|d: f64| d * (1.0 + 1e-5), |d: f64| -d, |d: f64| d - 1.0] {
                let mut wrong = layer.pullback::<f64>();
                let last = wrong[part].len() - 1;
                wrong[part][last] = error(wrong[part][last]);
                assert!(layer.check(&wrong).is_err(), "{way:?}, {shape:?}, part {part}");
            }
        }
    }
}
