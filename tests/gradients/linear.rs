//! The linear layer and its pullback, the one derivative written by hand.

use super::*;

/// Rows, inputs, outputs: one row, one output, odd sizes, a whole tile.
const SHAPES: [[usize; 3]; 12] = [
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

struct Linear {
    shape: [usize; 3],
    x: Vec<f64>,
    w: Vec<f64>,
    b: Vec<f64>,
    dz: Vec<f64>,
}

impl Linear {
    fn new(shape: [usize; 3]) -> Self {
        let [rows, inputs, outputs] = shape;
        let (x, w) = (numbers(rows * inputs, 6), numbers(outputs * inputs, 7));
        Self { shape, x, w, b: numbers(outputs, 8), dz: numbers(rows * outputs, 9) }
    }

    fn forward<T: Scalar>(&self, x: &[f64], w: &[f64], b: &[f64]) -> Vec<f64> {
        let [rows, inputs, outputs] = self.shape;
        let mut z = vec![T::default(); rows * outputs];
        T::linear(rows, inputs, outputs, &cast::<T>(x), &cast::<T>(w), &cast::<T>(b), &mut z);
        widen(&z)
    }

    /// dx, dw and db, the latter two added to ones as the kernel should.
    fn pullback<T: Scalar>(&self) -> [Vec<f64>; 3] {
        let [rows, inputs, outputs] = self.shape;
        let (x, w, dz) = (cast::<T>(&self.x), cast::<T>(&self.w), cast::<T>(&self.dz));
        let mut dx = vec![T::from_f64(f64::NAN); x.len()]; // Whatever was there must be overwritten.
        let [mut dw, mut db] = [w.len(), outputs].map(|size| vec![T::from_f64(1.0); size]);
        let (mut dw_alone, mut db_alone) = (dw.clone(), db.clone());
        T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, Some(&mut dx), &mut dw, &mut db);
        T::linear_pullback(rows, inputs, outputs, &x, &w, &dz, None, &mut dw_alone, &mut db_alone);
        assert!(dw == dw_alone && db == db_alone, "without dx the others must be the same");
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

#[test]
fn linear_layers_and_their_pullbacks_are_right() {
    for shape in SHAPES {
        let layer = Linear::new(shape);
        let (z, _) = layer.torch();
        compare(&layer.forward::<f64>(&layer.x, &layer.w, &layer.b), &z, 1e-13, 1e-13).unwrap();
        layer.check(&layer.pullback::<f64>()).unwrap();
        let (single, double) = (layer.pullback::<f32>(), layer.pullback::<f64>());
        for (single, double) in single.iter().zip(&double) {
            compare(single, double, 1e-5, 1e-5).unwrap_or_else(|e| panic!("float, {shape:?}: {e}"));
        }
    }
}

#[test]
fn a_linear_layer_of_zeros_is_right() {
    for shape in SHAPES {
        let mut layer = Linear::new(shape);
        layer.w.fill(0.0);
        layer.b.fill(0.0);
        assert!(layer.forward::<f64>(&layer.x, &layer.w, &layer.b).iter().all(|&z| z == 0.0));
        layer.check(&layer.pullback::<f64>()).unwrap();
    }
}

#[test]
fn a_wrong_linear_pullback_is_caught() {
    for shape in SHAPES.into_iter().filter(|shape| shape.iter().product::<usize>() < 1000) {
        let layer = Linear::new(shape);
        for part in 0..3 {
            for error in [|d: f64| d * (1.0 + 1e-5), |d: f64| -d, |d: f64| d - 1.0] {
                let mut wrong = layer.pullback::<f64>();
                let last = wrong[part].len() - 1;
                wrong[part][last] = error(wrong[part][last]);
                assert!(layer.check(&wrong).is_err(), "{shape:?}, part {part}");
            }
        }
    }
}
