//! A tensor as a view of a buffer: offset, sizes and strides in elements. Another view of the same memory costs nothing
//! when the graph runs, forward or backward.

use crate::error::{Error, Result};
use crate::kernels::strided::StridedView;

/// A strided view. Strides are not negative; a broadcast dimension has stride 0.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct View {
    /// Offset of the first element.
    pub offset: usize,
    /// Elements along each dimension.
    pub sizes: Vec<usize>,
    /// Between neighbours along each dimension.
    pub strides: Vec<usize>,
}

impl View {
    /// Row-major, without gaps.
    pub fn contiguous(sizes: &[usize]) -> Self {
        View { offset: 0, sizes: sizes.to_vec(), strides: row_major(sizes) }
    }

    /// Dimensions.
    pub fn rank(&self) -> usize {
        self.sizes.len()
    }

    /// Elements.
    pub fn len(&self) -> usize {
        self.sizes.iter().product()
    }

    /// Whether it has no elements.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Whether the elements lie in row-major order without gaps, from the buffer's first one.
    pub fn is_contiguous(&self) -> bool {
        let dense = |((&size, &stride), want)| size == 1 || stride == want;
        self.offset == 0 && self.sizes.iter().zip(&self.strides).zip(row_major(&self.sizes)).all(dense)
    }

    /// Whether no two elements are the same memory. May say no where the dimensions interleave.
    pub fn is_injective(&self) -> bool {
        let mut dims: Vec<_> = self.strides.iter().zip(&self.sizes).filter(|(_, size)| **size > 1).collect();
        dims.sort();
        let mut reach = 0;
        dims.into_iter().all(|(&stride, &size)| {
            let apart = stride > reach;
            reach += stride * (size - 1);
            apart
        })
    }

    /// The dimensions by their strides, the greatest first; those of one element keep their places.
    pub fn stride_order(&self) -> Vec<usize> {
        let long: Vec<usize> = (0..self.rank()).filter(|&dim| self.sizes[dim] != 1).collect();
        let mut sorted = long.clone();
        sorted.sort_by_key(|&dim| std::cmp::Reverse(self.strides[dim]));
        let mut order: Vec<usize> = (0..self.rank()).collect();
        for (place, dim) in long.into_iter().zip(sorted) {
            order[place] = dim;
        }
        order
    }

    /// The order of dimensions in which it is contiguous, if that is not their own.
    pub fn dense_order(&self) -> Option<Vec<usize>> {
        let order = self.stride_order();
        (!order.is_sorted() && self.permute(&order).is_contiguous()).then_some(order)
    }

    /// Offset of each element in its buffer, in row-major order.
    pub fn offsets(&self) -> impl Iterator<Item = usize> + '_ {
        let (mut index, mut offset) = (vec![0; self.rank()], self.offset);
        (0..self.len()).map(move |_| {
            let present = offset;
            for (index, (&size, &stride)) in index.iter_mut().zip(self.sizes.iter().zip(&self.strides)).rev() {
                *index += 1;
                offset += stride;
                if *index < size {
                    break;
                }
                offset -= stride * size;
                *index = 0;
            }
            present
        })
    }

    /// For the kernels.
    pub fn strided(&self) -> Result<StridedView> {
        StridedView::new(self.offset, &self.sizes, &self.strides).ok_or_else(|| {
            Error::invalid(format!("a view of shape {:?} with too many dimensions", self.sizes), "make it contiguous")
        })
    }

    /// Dimension `i` of the result is dimension `order[i]`.
    pub fn permute(&self, order: &[usize]) -> Self {
        let pick = |from: &[usize]| order.iter().map(|&dim| from[dim]).collect();
        View { offset: self.offset, sizes: pick(&self.sizes), strides: pick(&self.strides) }
    }

    /// Two dimensions exchanged.
    pub fn transpose(&self, a: usize, b: usize) -> Self {
        let mut order: Vec<_> = (0..self.rank()).collect();
        order.swap(a, b);
        self.permute(&order)
    }

    /// Broadcast to `sizes`; `None` if that is impossible.
    pub fn expand(&self, sizes: &[usize]) -> Option<Self> {
        let added = sizes.len().checked_sub(self.rank())?;
        let mut strides = vec![0; sizes.len()];
        for (dim, (&size, &stride)) in self.sizes.iter().zip(&self.strides).enumerate() {
            if size == sizes[added + dim] {
                strides[added + dim] = stride;
            } else if size != 1 {
                return None;
            }
        }
        Some(View { offset: self.offset, sizes: sizes.to_vec(), strides })
    }

    /// Element `index` of `dim`, which disappears.
    pub fn select(&self, dim: usize, index: usize) -> Self {
        let mut view = self.clone();
        view.offset += index * view.strides.remove(dim);
        view.sizes.remove(dim);
        view
    }

    /// `size` elements of `dim` from `start` on, `step` apart.
    pub fn narrow(&self, dim: usize, start: usize, size: usize, step: usize) -> Self {
        let mut view = self.clone();
        if size > 0 {
            view.offset += start * view.strides[dim];
        }
        view.sizes[dim] = size;
        view.strides[dim] *= step;
        view
    }

    /// The elements whose places in `first` and in `second`, a later dimension of the same size, are equal: along `first`.
    pub fn diagonal(&self, first: usize, second: usize) -> Option<Self> {
        let mut view = self.clone();
        let (size, stride) = (view.sizes.remove(second), view.strides.remove(second));
        view.strides[first] += stride;
        (view.sizes[first] == size).then_some(view)
    }

    /// A dimension of one element before `dim`.
    pub fn unsqueeze(&self, dim: usize) -> Self {
        let mut view = self.clone();
        view.sizes.insert(dim, 1);
        view.strides.insert(dim, 0);
        view
    }

    /// Without `dim`, which has one element.
    pub fn squeeze(&self, dim: usize) -> Self {
        self.select(dim, 0)
    }

    /// Windows of `size` elements `dilation` apart along `dim`, which then counts the windows, `step` apart; the elements
    /// of a window become the last dimension. `None` where no window fits.
    pub fn windows(&self, dim: usize, size: usize, step: usize, dilation: usize) -> Option<Self> {
        let reach = size.checked_sub(1)?.checked_mul(dilation)?;
        let count = self.sizes[dim].checked_sub(reach.checked_add(1)?)?.checked_div(step)? + 1;
        // Steps that nobody makes may be of any length.
        let [dilation, step] = [(size, dilation), (count, step)].map(|(count, step)| if count > 1 { step } else { 1 });
        let mut view = self.clone();
        view.sizes[dim] = count;
        view.sizes.push(size);
        view.strides.push(self.strides[dim].checked_mul(dilation)?);
        view.strides[dim] = self.strides[dim].checked_mul(step)?;
        Some(view)
    }

    /// The same elements in another shape; `None` if that needs a copy.
    pub fn reshape(&self, sizes: &[usize]) -> Option<Self> {
        if self.is_empty() {
            return Some(View { offset: self.offset, ..View::contiguous(sizes) });
        }
        let mut strides = vec![0; sizes.len()];
        let (mut from, mut to) = (self.rank(), sizes.len());
        while from > 0 {
            // The longest run of dimensions that lie one in the other counts as one.
            let (mut length, stride) = (self.sizes[from - 1], self.strides[from - 1]);
            from -= 1;
            while from > 0 && (length == 1 || self.sizes[from - 1] == 1 || self.strides[from - 1] == length * stride) {
                if length == 1 {
                    return self.without_ones().reshape(sizes);
                }
                length *= self.sizes[from - 1];
                from -= 1;
            }
            let mut filled = 1;
            while to > 0 && (filled < length || sizes[to - 1] == 1) {
                strides[to - 1] = filled * stride;
                filled *= sizes[to - 1];
                to -= 1;
            }
            if filled != length {
                return None;
            }
        }
        sizes[..to].iter().all(|&size| size == 1).then(|| View { offset: self.offset, sizes: sizes.to_vec(), strides })
    }

    fn without_ones(&self) -> Self {
        let kept: Vec<_> = (0..self.rank()).filter(|&dim| self.sizes[dim] != 1).collect();
        self.permute(&kept)
    }
}

/// The order that undoes `order`.
pub fn inverse(order: &[usize]) -> Vec<usize> {
    let mut undone = vec![0; order.len()];
    order.iter().enumerate().for_each(|(place, &dim)| undone[dim] = place);
    undone
}

/// The strides of a dense row-major tensor.
pub fn row_major(sizes: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; sizes.len()];
    for dim in (1..sizes.len()).rev() {
        strides[dim - 1] = strides[dim] * sizes[dim].max(1);
    }
    strides
}

/// Elements of a tensor of that shape, unless there are more than `limit`.
pub fn checked_length(sizes: &[usize], limit: usize) -> Result<usize> {
    // Sizes of 0 count as 1 first: a product that passes through 0 must not hide an overflow.
    let bound = sizes.iter().try_fold(1usize, |length, &size| length.checked_mul(size.max(1)));
    match bound {
        Some(bound) if bound <= limit => Ok(sizes.iter().product()),
        _ => Err(Error::invalid(format!("a tensor of shape {sizes:?}"), "use a smaller one")),
    }
}

/// The shape that both broadcast to.
pub fn broadcast(a: &[usize], b: &[usize]) -> Option<Vec<usize>> {
    let rank = a.len().max(b.len());
    let size = |sizes: &[usize], dim: usize| (dim + sizes.len()).checked_sub(rank).map_or(1, |dim| sizes[dim]);
    (0..rank)
        .map(|dim| match (size(a, dim), size(b, dim)) {
            (a, b) if a == b => Some(a),
            (1, other) | (other, 1) => Some(other),
            _ => None,
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The offsets of a view's elements in order.
    fn offsets(view: &View) -> Vec<usize> {
        view.offsets().collect()
    }

    #[test]
    fn offsets_go_through_the_elements_in_row_major_order() {
        for view in [View::contiguous(&[2, 3, 4]).permute(&[2, 0, 1]), View::contiguous(&[]), View::contiguous(&[2, 0])]
        {
            let mut all = vec![view.offset];
            for (&size, &stride) in view.sizes.iter().zip(&view.strides) {
                all = all.iter().flat_map(|&at| (0..size).map(move |i| at + i * stride)).collect();
            }
            assert_eq!(offsets(&view), all);
        }
    }

    #[test]
    fn windows_of_any_steps_fit_or_are_refused() {
        let x = View::contiguous(&[2, 5, 7]);
        for (size, step, dilation) in [(2, 1, 1), (2, 3, 2), (5, 1, 1), (1, usize::MAX, 1), (1, 2, usize::MAX)] {
            let windows = x.windows(1, size, step, dilation).unwrap();
            let starts = (0..5).step_by(step).filter(|start| start + (size - 1) * dilation.min(5) < 5);
            let rows = starts.flat_map(|start| (0..size).map(move |k| start + k * dilation.min(5)));
            let found = windows.select(0, 0).select(1, 0);
            assert_eq!(offsets(&found), rows.map(|row| row * 7).collect::<Vec<_>>());
        }
        for (size, step, dilation) in [(6, 1, 1), (0, 1, 1), (2, 1, usize::MAX), (usize::MAX, 1, 2), (2, 0, 1)] {
            assert!(x.windows(1, size, step, dilation).is_none(), "{size} {step} {dilation}");
        }
    }

    #[test]
    fn reshaping_keeps_the_order_of_elements() {
        let x = View::contiguous(&[2, 3, 4]);
        for view in [x.clone(), x.transpose(0, 1), x.permute(&[2, 0, 1]), x.narrow(1, 1, 2, 1), x.unsqueeze(1)] {
            for sizes in [vec![24], vec![6, 4], vec![3, 8], vec![2, 3, 4], vec![16], vec![4, 1, 4], vec![1, 2, 12, 1]] {
                if let Some(shaped) = view.reshape(&sizes) {
                    assert_eq!(shaped.sizes, sizes);
                    assert_eq!(offsets(&shaped), offsets(&view), "{view:?} as {sizes:?}");
                }
            }
        }
        assert!(x.reshape(&[4, 6]).is_some());
        assert!(x.transpose(0, 1).reshape(&[24]).is_none());
        assert!(x.transpose(0, 1).reshape(&[3, 2, 2, 2]).is_some());
        assert_eq!(View::contiguous(&[1, 1]).reshape(&[]).unwrap().rank(), 0);
        assert_eq!(View::contiguous(&[]).reshape(&[1, 1]).unwrap().sizes, [1, 1]);
        assert!(View::contiguous(&[2]).expand(&[3, 2]).unwrap().reshape(&[6]).is_none());
    }

    #[test]
    fn overlapping_views_are_noticed() {
        let x = View::contiguous(&[6]);
        assert!(x.windows(0, 2, 2, 1).unwrap().is_injective());
        assert!(!x.windows(0, 3, 1, 1).unwrap().is_injective());
        assert!(!x.expand(&[2, 6]).unwrap().is_injective());
        assert!(View::contiguous(&[2, 3, 4]).permute(&[2, 0, 1]).is_injective());
        assert!(x.windows(0, 7, 1, 1).is_none());
    }

    #[test]
    fn the_order_of_memory_is_found() {
        let x = View::contiguous(&[2, 1, 3, 4]);
        assert_eq!(x.dense_order(), None);
        for order in [[3, 1, 0, 2], [2, 1, 3, 0], [0, 1, 3, 2]] {
            let turned = x.permute(&inverse(&order));
            assert_eq!(turned.dense_order(), Some(order.to_vec()));
            assert_eq!(turned.permute(&order), x);
            let strides = turned.strides.iter().map(|stride| 2 * stride).collect();
            assert_eq!(View { strides, ..turned.clone() }.dense_order(), None);
            assert_eq!(View { offset: 1, ..turned }.dense_order(), None);
        }
    }
}
