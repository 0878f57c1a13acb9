//! A perceptron with rounded products, as slow as it is plain: float64, number by number.

use cladtorch::graph::{Activation, Loss};

use support::events::Events;

/// The nearest bfloat16 of a float32 number, ties to even; denormal numbers become zero.
pub fn nearest(value: f32) -> f32 {
    if value.is_nan() {
        return f32::NAN;
    }
    if value.is_subnormal() {
        return 0.0f32.copysign(value);
    }
    let bits = value.to_bits();
    f32::from_bits((bits + 0x7fff + (bits >> 16 & 1)) & 0xffff_0000)
}

pub fn rounded(value: f64) -> f64 {
    nearest(value as f32).into()
}

/// Layers of these sizes, with a loss of logits; the mean over the events is not taken.
pub struct Network<'a> {
    pub sizes: &'a [usize],
    pub activation: Activation,
    pub loss: Loss,
}

impl Network<'_> {
    fn layers(&self) -> usize {
        self.sizes.len() - 1
    }

    /// The place of the weight [outputs, inputs] of a layer in the flat vector, followed by its bias.
    fn weight(&self, layer: usize) -> usize {
        (0..layer).map(|before| (self.sizes[before] + 1) * self.sizes[before + 1]).sum()
    }

    fn activate(&self, z: f64) -> f64 {
        match self.activation {
            Activation::ReLU => z.max(0.0),
            Activation::LeakyReLU => {
                if z > 0.0 {
                    z
                } else {
                    0.01 * z
                }
            }
            Activation::Tanh => z.tanh(),
            other => panic!("{other:?} has no reference"),
        }
    }

    /// By the value.
    fn slope(&self, a: f64) -> f64 {
        match self.activation {
            Activation::ReLU => f64::from(u8::from(a > 0.0)),
            Activation::LeakyReLU => {
                if a > 0.0 {
                    1.0
                } else {
                    0.01
                }
            }
            _ => 1.0 - a * a,
        }
    }

    /// The values of all layers for one event; a layer of one output is not rounded.
    fn values(&self, parameters: &[f64], event: &[f32], round: fn(f64) -> f64) -> Vec<Vec<f64>> {
        let mut values = vec![event.iter().map(|&x| f64::from(x)).collect::<Vec<_>>()];
        for layer in 0..self.layers() {
            let (x, outputs) = (&values[layer], self.sizes[layer + 1]);
            let (weight, bias) = parameters[self.weight(layer)..].split_at(x.len() * outputs);
            let round = if outputs == 1 { |x| x } else { round };
            let output = |o: usize| {
                let products = x.iter().zip(&weight[o * x.len()..]).map(|(&x, &w)| round(x) * round(w));
                let z = bias[o] + products.sum::<f64>();
                if layer + 1 == self.layers() { z } else { self.activate(z) }
            };
            values.push((0..outputs).map(output).collect());
        }
        values
    }

    /// The loss of one event and its derivative by the logits.
    fn loss_of(&self, logits: &[f64], label: f64) -> (f64, Vec<f64>) {
        if self.loss == Loss::BinaryCrossEntropy {
            let z = logits[0];
            return ((1.0 + z.exp()).ln() - label * z, vec![1.0 / (1.0 + (-z).exp()) - label]);
        }
        let sum: f64 = logits.iter().map(|z| z.exp()).sum();
        let slope = |(class, z): (usize, &f64)| z.exp() / sum - f64::from(u8::from(class == label as usize));
        (sum.ln() - logits[label as usize], logits.iter().enumerate().map(slope).collect())
    }

    /// The sum of weight times loss, exact.
    pub fn loss(&self, parameters: &[f64], events: &Events) -> f64 {
        let events = each(events, self.sizes[0]);
        events
            .map(|(event, label, weight)| {
                weight * self.loss_of(&self.values(parameters, event, |x| x)[self.layers()], label).0
            })
            .sum()
    }

    /// Its gradient, with the factors of all products rounded by `round`.
    pub fn gradient(&self, parameters: &[f64], events: &Events, round: fn(f64) -> f64) -> Vec<f64> {
        let mut gradient = vec![0.0; parameters.len()];
        for (event, label, weight) in each(events, self.sizes[0]) {
            let values = self.values(parameters, event, round);
            let mut dz: Vec<f64> =
                self.loss_of(&values[self.layers()], label).1.iter().map(|slope| weight * slope).collect();
            for layer in (0..self.layers()).rev() {
                let (x, start) = (&values[layer], self.weight(layer));
                let round = if dz.len() == 1 { |x| x } else { round };
                let mut dx = vec![0.0; x.len()];
                for (o, &dz_o) in dz.iter().enumerate() {
                    for (i, &x_i) in x.iter().enumerate() {
                        let at = start + o * x.len() + i;
                        gradient[at] += round(x_i) * round(dz_o);
                        dx[i] += round(dz_o) * round(parameters[at]);
                    }
                    gradient[start + dz.len() * x.len() + o] += dz_o;
                }
                dz = dx.iter().zip(x).map(|(dx, &a)| dx * self.slope(a)).collect();
            }
        }
        gradient
    }
}

/// Features, label and weight of each event.
fn each(events: &Events, features: usize) -> impl Iterator<Item = (&[f32], f64, f64)> {
    let rows = events.features.chunks_exact(features).zip(&events.labels).zip(&events.weights);
    rows.map(|((event, &label), &weight)| (event, f64::from(label), f64::from(weight)))
}
