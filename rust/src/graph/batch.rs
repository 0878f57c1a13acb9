//! One observation for every number of rows.
//!
//! A function was observed with R rows and with R + 1. The two observations differ in whole numbers (sizes, strides,
//! arguments of operators) and rarely in a factor; each is taken to be linear in the rows: a value, and how much a row
//! adds. A third observation, with another number of rows, must agree with this, or the function is refused. Lowering
//! derives every shape again and compares it with the expected one, so that a wrong one is noticed.

use super::{ObservedArgument, ObservedGraph, ObservedNode, ObservedValue};
use crate::error::{Error, Result};

/// A function as it would be observed with any number of rows.
#[derive(Clone)]
pub struct AnyBatch {
    /// With `rows` rows, and with one more.
    graphs: [ObservedGraph; 2],
    rows: i64,
    remedy: String,
}

impl AnyBatch {
    /// From observations with `rows` and `rows + 1` rows; `other` is one with `other_rows`, to check against. `remedy` is what
    /// the user may do where they do not fit.
    pub fn new(
        graphs: [ObservedGraph; 2],
        rows: i64,
        other: &ObservedGraph,
        other_rows: i64,
        remedy: &str,
    ) -> Result<Self> {
        let batch = AnyBatch { graphs, rows, remedy: remedy.to_owned() };
        let expected = batch.at(other_rows)?;
        match expected.nodes.iter().zip(&other.nodes).position(|(expected, node)| !same_node(expected, node)) {
            Some(node) => Err(batch.refused(node)),
            None if same_values(&expected, other) => Ok(batch),
            None => Err(batch.refused(expected.nodes.len())),
        }
    }

    /// From observations that another process made and compared.
    pub(super) fn restored(graphs: [ObservedGraph; 2], rows: i64, remedy: &str) -> Self {
        AnyBatch { graphs, rows, remedy: remedy.to_owned() }
    }

    /// Rows of the first observation.
    pub fn rows(&self) -> usize {
        self.rows.max(0) as usize
    }

    /// The observations with that many rows, and with one more.
    pub fn graphs(&self) -> &[ObservedGraph; 2] {
        &self.graphs
    }

    /// The same, for what does not matter to operators: their places.
    pub fn graphs_mut(&mut self) -> &mut [ObservedGraph; 2] {
        &mut self.graphs
    }

    /// The observation with `rows` rows.
    pub fn at(&self, rows: i64) -> Result<ObservedGraph> {
        let [first, second] = &self.graphs;
        let more = rows.checked_sub(self.rows).ok_or_else(|| self.refused(0))?;
        if first.nodes.len() != second.nodes.len() || first.values.len() != second.values.len() {
            return Err(self.refused(first.nodes.len().min(second.nodes.len())));
        }
        let nodes = first.nodes.iter().zip(&second.nodes).enumerate();
        let nodes = nodes.map(|(index, (a, b))| node(a, b, more).ok_or_else(|| self.refused(index)));
        let values = first.values.iter().zip(&second.values);
        let values = values.map(|(a, b)| value(a, b, more).ok_or_else(|| self.refused(first.nodes.len())));
        Ok(ObservedGraph {
            nodes: nodes.collect::<Result<_>>()?,
            values: values.collect::<Result<_>>()?,
            inputs: first.inputs.clone(),
            outputs: first.outputs.clone(),
            constants: first.constants.clone(),
        })
    }

    fn refused(&self, node: usize) -> Error {
        let what = match self.graphs[0].nodes.get(node) {
            Some(ObservedNode { op, place, .. }) => {
                format!("{op} at {place} has numbers, or a shape, that are not linear in the number of rows (size(0))")
            }
            None => "the shapes do not follow the number of rows".to_owned(),
        };
        Error::invalid(what, &*self.remedy)
    }
}

/// The number that is `a` at some rows and `b` with one row more, for `more` rows more.
fn whole(a: i64, b: i64, more: i64) -> Option<i64> {
    a.checked_add(b.checked_sub(a)?.checked_mul(more)?)
}

fn factor(a: f64, b: f64, more: i64) -> f64 {
    if a.to_bits() == b.to_bits() { a } else { a + (b - a) * more as f64 }
}

fn list(a: &[i64], b: &[i64], more: i64) -> Option<Vec<i64>> {
    (a.len() == b.len()).then(|| a.iter().zip(b).map(|(&a, &b)| whole(a, b, more)).collect())?
}

fn value(a: &ObservedValue, b: &ObservedValue, more: i64) -> Option<ObservedValue> {
    let (shape, strides) = (list(&a.shape, &b.shape, more)?, list(&a.strides, &b.strides, more)?);
    (a.dtype == b.dtype).then(|| ObservedValue { name: a.name.clone(), dtype: a.dtype, shape, strides })
}

fn argument(a: &ObservedArgument, b: &ObservedArgument, more: i64) -> Option<ObservedArgument> {
    use ObservedArgument::{Float, Floats, Integer, Integers};
    Some(match (a, b) {
        (&Integer(a), &Integer(b)) => Integer(whole(a, b, more)?),
        (&Float(a), &Float(b)) => Float(factor(a, b, more)),
        (Integers(a), Integers(b)) => Integers(list(a, b, more)?),
        (Floats(a), Floats(b)) if a.len() == b.len() => {
            Floats(a.iter().zip(b).map(|(&a, &b)| factor(a, b, more)).collect())
        }
        (a, b) if a == b => a.clone(),
        _ => return None,
    })
}

fn node(a: &ObservedNode, b: &ObservedNode, more: i64) -> Option<ObservedNode> {
    let same = a.op == b.op && a.overload == b.overload && a.outputs == b.outputs;
    let arguments = (same && a.arguments.len() == b.arguments.len()).then(|| {
        a.arguments.iter().zip(&b.arguments).map(|(a, b)| argument(a, b, more)).collect::<Option<Vec<_>>>()
    })??;
    Some(ObservedNode { arguments, ..a.clone() })
}

fn same_node(a: &ObservedNode, b: &ObservedNode) -> bool {
    let close = |a: f64, b: f64| a.to_bits() == b.to_bits() || (a - b).abs() <= 1e-12 * b.abs();
    let same = |(a, b): (&ObservedArgument, &ObservedArgument)| match (a, b) {
        (&ObservedArgument::Float(a), &ObservedArgument::Float(b)) => close(a, b),
        (ObservedArgument::Floats(a), ObservedArgument::Floats(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(&a, &b)| close(a, b))
        }
        (a, b) => a == b,
    };
    a.op == b.op
        && a.overload == b.overload
        && a.outputs == b.outputs
        && a.arguments.len() == b.arguments.len()
        && a.arguments.iter().zip(&b.arguments).all(same)
}

/// Strides count for what the caller passes only: those inside are the executor's own.
fn same_values(a: &ObservedGraph, b: &ObservedGraph) -> bool {
    let same = |(a, b): (&ObservedValue, &ObservedValue)| a.dtype == b.dtype && a.shape == b.shape;
    let passed = a.inputs.iter().chain(&a.constants).map(|&index| index as usize);
    a.nodes.len() == b.nodes.len()
        && a.values.len() == b.values.len()
        && [&a.inputs, &a.outputs, &a.constants] == [&b.inputs, &b.outputs, &b.constants]
        && a.values.iter().zip(&b.values).all(same)
        && passed.into_iter().all(|index| a.values[index].strides == b.values[index].strides)
}
