//! Elements at places that are known.

use super::super::call::{Call, float_of};
use super::super::fold;
use super::super::known::Element;
use super::super::value::Value;
use crate::error::Result;
use crate::graph::ObservedArgument::Integer;
use crate::graph::View;

/// Elements along an axis, chosen by places that exist.
pub fn selected(call: &mut Call, x: &Value, axis: usize, places: Vec<i64>) -> Result<Value> {
    let mut shape = x.shape().to_vec();
    shape[axis] = places.len();
    if let Value::Known(known) = x
        && !known.may_train()
    {
        fold::check_length(&shape)?;
        let stride: usize = known.shape[axis + 1..].iter().product();
        let (size, view) = (known.shape[axis], View::contiguous(&shape));
        let place = |at: usize| {
            let (outer, inner) = (at / (stride * places.len()), at % stride);
            outer * size * stride + places[at / stride % places.len()] as usize * stride + inner
        };
        return Ok(Value::Known(fold::chosen(known, &shape, view.offsets().map(place))?));
    }
    let index = call.b.index(&[places.len()], places);
    let tensor = call.number(x)?;
    let element = float_of(x.element());
    let value = call.op("index_select", "", vec![tensor, Integer(axis as i64), index], &shape, element)?;
    if x.element() == Element::Bool { call.mask(&value) } else { Ok(value) }
}
