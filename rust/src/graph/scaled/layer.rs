//! The forms to which convolutions are lowered.

use crate::graph::View;
use crate::graph::program::{Node, Primitive};
use crate::graph::view::row_major;

/// A convolution with the network's own weights, in one of the forms to which convolutions are lowered. Its value is
/// dense: [events, channels, columns]; the channels may be two dimensions.
pub struct Layer {
    pub events: usize,
    /// Channels, or groups and the channels of each.
    channels: Vec<usize>,
    columns: usize,
    /// Of each channel.
    pub weights: usize,
    /// Which operand has them.
    pub operand: usize,
    /// [channels], of the third operand.
    pub bias: Option<View>,
}

impl Layer {
    pub fn new(node: &Node, varies: &[bool]) -> Option<Self> {
        let (operand, weights) = match &node.primitive {
            Primitive::Convolve(convolution) => (1, convolution.inputs * convolution.taps),
            Primitive::Product(product) if node.shape.len() == 4 => (0, product.k),
            _ => return None,
        };
        let is_own = |at: usize| node.operands.get(at).is_none_or(|operand| !varies[operand.buffer]);
        let [events, channels @ .., columns] = &node.shape[..] else { return None };
        let (events, channels, columns) = (*events, channels.to_vec(), *columns);
        let bias = match node.operands.get(2) {
            None => None,
            Some(bias) => {
                let [sizes, strides] =
                    [&bias.view.sizes, &bias.view.strides].map(|list| list[1..=channels.len()].to_vec());
                Some(View { offset: bias.view.offset, sizes, strides }.reshape(&[channels.iter().product()])?)
            }
        };
        let layer = Layer { events, channels, columns, weights, operand, bias };
        let is_dense = operand == 1 || layer.has_dense_factor(&node.operands[0].view);
        (is_own(operand) && is_own(2) && is_dense).then_some(layer)
    }

    pub fn all_channels(&self) -> usize {
        self.channels.iter().product()
    }

    /// Whether the first factor of the products is the same for all events, and dense.
    fn has_dense_factor(&self, view: &View) -> bool {
        let same = View { offset: 0, ..self.factor(view) };
        let dims = || 0..view.rank();
        view.sizes == same.sizes && dims().all(|dim| view.sizes[dim] <= 1 || view.strides[dim] == same.strides[dim])
    }

    /// Dense weights, as the operand of shape `view`.
    pub fn factor(&self, view: &View) -> View {
        let mut dense = View::contiguous(&view.sizes);
        if self.operand == 0 {
            dense.strides[0] = 0; // of the events
        }
        dense
    }

    /// A number for each channel, at these places, as one for each element of the value.
    pub fn spread(&self, View { offset, strides, .. }: &View) -> View {
        let sizes = [&[self.events], &self.channels[..], &[self.columns]].concat();
        let inner = row_major(&self.channels).into_iter().map(|stride| stride * strides[0]);
        View { offset: *offset, sizes, strides: [0].into_iter().chain(inner).chain([0]).collect() }
    }

    /// The dimension of the channels in `view` of its value; `None` if there is no such dimension.
    pub fn channel(&self, view: &View) -> Option<usize> {
        let View { offset, sizes, strides } = view;
        let is_channel = |dim: &usize| {
            let before =
                row_major(&sizes[..*dim]).into_iter().map(|stride| stride * self.all_channels() * self.columns);
            let mut inner = sizes[dim + 1..].iter().zip(&strides[dim + 1..]);
            sizes[*dim] == self.all_channels()
                && (strides[*dim] == self.columns || sizes[*dim] == 1)
                && sizes[..*dim].iter().product::<usize>() == self.events
                && before.zip(&strides[..*dim]).zip(sizes).all(|((dense, own), size)| dense == *own || *size == 1)
                && inner.try_fold(*offset, |end, (size, stride)| Some(end + size.checked_sub(1)? * stride))
                    < Some(self.columns)
        };
        (0..sizes.len()).find(is_channel).filter(|_| !view.is_empty())
    }
}
