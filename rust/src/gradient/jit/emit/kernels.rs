//! Steps that the library's kernels run.

use super::super::super::reverse::Begin;
use super::super::lines::emit;
use super::{Emitter, joined, number};
use crate::error::{Error, Result};
use crate::graph::View;
use crate::graph::program::{Gather, Kind, Primitive, Scatter, Tensor};
use crate::kernels::strided::{Channels, Convolution, Ranking};

impl Emitter<'_> {
    /// A step that the library's kernels run.
    pub fn kernel(&mut self, index: usize, begins: &[Option<Begin>]) -> Result<()> {
        let node = &self.program.nodes[index];
        let value = self.variable(node.buffer);
        let names: Vec<String> = node.operands.iter().map(|operand| self.variable(operand.buffer)).collect();
        emit!(self.steps, "namespace {{");
        for (operand, tensor) in node.operands.iter().enumerate() {
            self.view(&format!("view_{index}_{operand}"), &tensor.view)?;
        }
        let is_active = |operand: usize| begins.get(operand).is_some_and(Option::is_some);
        let add = |operand: usize| u8::from(begins[operand] != Some(Begin::Store));
        let length = self.program.buffers[node.buffer].length;
        let view = |operand: usize| format!("&view_{index}_{operand}");
        let (mut forward, mut backward) = (String::new(), String::new());
        for (operand, _) in begins.iter().enumerate().filter(|(_, begin)| **begin == Some(Begin::Zero)) {
            self.zeros(&mut backward, node.operands[operand].buffer);
        }
        let k = "gKernels";
        match &node.primitive {
            Primitive::Sum(target) => {
                self.view(&format!("target_{index}"), target)?;
                let (x, count) = (&names[0], target.len());
                emit!(forward, "   fill({value}, {length}, 0);");
                emit!(forward, "   {k}->accumulate({count}, {x}, {}, {value}, &target_{index});", view(0));
                if is_active(0) {
                    let pass = pass_on(begins[0]);
                    emit!(backward, "   {k}->{pass}({count}, _d_{value}, &target_{index}, _d_{x}, {});", view(0));
                }
            }
            &Primitive::Max { columns, ties } => {
                let (x, ties) = (&names[0], ties as u8);
                emit!(forward, "   {k}->max({length}, {columns}, {x}, {}, {value});", view(0));
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->max_pullback({ties}, {length}, {columns}, {x}, {v}, {value}, _d_{value}, {}, _d_{x}, {v});",
                        add(0),
                        v = view(0)
                    );
                }
            }
            &Primitive::Length(columns) => {
                let x = &names[0];
                emit!(forward, "   {k}->length({length}, {columns}, {x}, {}, {value});", view(0));
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->length_pullback({length}, {columns}, {x}, {v}, {value}, _d_{value}, {}, _d_{x}, {v});",
                        add(0),
                        v = view(0)
                    );
                }
            }
            &Primitive::Softmax { columns, side, logarithm } if side > 1 => {
                let (x, logarithm) = (&names[0], u8::from(logarithm));
                let matrices = length.checked_div(columns * side).unwrap_or(0);
                emit!(forward, "   {k}->softmax_down({logarithm}, {matrices}, {columns}, {side}, {x}, {value});");
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->softmax_down_pullback({logarithm}, {matrices}, {columns}, {side}, {value}, _d_{value}, {}, _d_{x});",
                        add(0)
                    );
                }
            }
            &Primitive::Softmax { columns, logarithm, .. } => {
                let (x, logarithm, rows) = (&names[0], u8::from(logarithm), length.checked_div(columns).unwrap_or(0));
                emit!(forward, "   {k}->softmax({logarithm}, {rows}, {columns}, {x}, {}, {value});", view(0));
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->softmax_pullback({logarithm}, {rows}, {columns}, {value}, _d_{value}, {}, _d_{x}, {});",
                        add(0),
                        view(0)
                    );
                }
            }
            &Primitive::Normalise { columns, eps } => {
                let (x, w, b, rows) = (&names[0], &names[1], &names[2], length.checked_div(columns).unwrap_or(0));
                emit!(forward, "   {k}->normalise({rows}, {columns}, {eps:e}, {x}, {w}, {b}, {value});");
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->normalise_pullback({rows}, {columns}, {eps:e}, {x}, {w}, _d_{value}, {}, _d_{x});",
                        add(0)
                    );
                }
                if is_active(1) {
                    emit!(
                        backward,
                        "   {k}->normalise_scale_pullback({rows}, {columns}, {eps:e}, {x}, _d_{value}, _d_{w});"
                    );
                }
                if is_active(2) {
                    self.view(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
                    let pass = pass_on(begins[2]);
                    emit!(backward, "   {k}->{pass}({length}, _d_{value}, &dense_{index}, _d_{b}, {});", view(2));
                }
            }
            &Primitive::Moments(channels) => {
                self.channels(index, channels);
                emit!(
                    forward,
                    "   {k}->moments(&channels_{index}, {}, {value}, {value} + {});",
                    names[0],
                    channels.channels
                );
            }
            &Primitive::Standardise { channels, eps } => {
                self.channels(index, channels);
                standardise(index, channels, eps, &names, begins, &value, &mut forward, &mut backward);
            }
            Primitive::Product(_) => self.product(index, &names, begins, &mut forward, &mut backward)?,
            Primitive::Custom(_)
            | Primitive::Linear(_)
            | Primitive::Round(_)
            | Primitive::Pack(_)
            | Primitive::Unpack(_) => {
                return Err(Error::Internal(format!("{} is not compiled", node.primitive.name())));
            }
            Primitive::Convolve(c) => {
                let Convolution { events, groups, inputs, outputs, taps, dilation, length: of_signal } = c;
                emit!(
                    self.steps,
                    "const ct_convolution convolution_{index} = {{{events}, {groups}, {inputs}, {outputs}, {taps}, {dilation}, \
                     {of_signal}}};"
                );
                let (x, w, bias) = (&names[0], &names[1], names.get(2).map_or("nullptr", String::as_str));
                emit!(forward, "   {k}->convolve(&convolution_{index}, {x}, {w}, {bias}, {value});");
                if is_active(0) {
                    let add = add(0);
                    emit!(backward, "   {k}->convolve_pullback(&convolution_{index}, {w}, _d_{value}, {add}, _d_{x});");
                }
                if is_active(1) {
                    let add = add(1);
                    emit!(
                        backward,
                        "   {k}->convolve_weight_pullback(&convolution_{index}, {x}, _d_{value}, {add}, _d_{w});"
                    );
                }
                if is_active(2) {
                    self.view(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
                    let pass = pass_on(begins[2]);
                    emit!(backward, "   {k}->{pass}({length}, _d_{value}, &dense_{index}, _d_{bias}, {});", view(2));
                }
            }
            &Primitive::Argsort(Ranking { order, descending, columns, count }) => {
                let (x, order, descending) = (&names[0], order as u8, u8::from(descending));
                let rows = length.checked_div(count).unwrap_or(0);
                emit!(
                    forward,
                    "   {k}->argsort({order}, {descending}, {rows}, {columns}, {count}, {x}, {}, {value});",
                    view(0)
                );
            }
            Primitive::Gather(g) => {
                self.pick(index, g, &node.operands[1]);
                let (x, chosen) = (&names[0], &names[1]);
                emit!(
                    forward,
                    "   if (!{k}->choose(&pick_{index}, {length}, {x}, {}, {chosen}, {}, {value}))\n      return 0;",
                    view(0),
                    view(1)
                );
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->choose_pullback(&pick_{index}, {length}, _d_{value}, {chosen}, {}, _d_{x}, {});",
                        view(1),
                        view(0)
                    );
                }
            }
            Primitive::Scatter(Scatter { gather, places }) => {
                self.pick(index, gather, &node.operands[1]);
                self.view(&format!("places_{index}"), places)?;
                self.view(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
                let (source, chosen, start, count) = (&names[0], &names[1], &names[2], places.len());
                emit!(forward, "   {k}->copy({length}, {start}, {}, {value}, &dense_{index});", view(2));
                emit!(
                    forward,
                    "   if (!{k}->choose_pullback(&pick_{index}, {count}, {source}, {chosen}, {}, {value}, &places_{index}))\n      return 0;",
                    view(1)
                );
                if is_active(0) {
                    emit!(
                        backward,
                        "   {k}->choose(&pick_{index}, {count}, _d_{value}, &places_{index}, {chosen}, {}, _d_{source});",
                        view(1)
                    );
                }
                if is_active(2) {
                    let pass = pass_on(begins[2]);
                    emit!(backward, "   {k}->{pass}({length}, _d_{value}, &dense_{index}, _d_{start}, {});", view(2));
                }
            }
            Primitive::Concat { fill, places } => {
                emit!(forward, "   fill({value}, {length}, {});", number(*fill));
                for (operand, place) in places.iter().enumerate() {
                    self.view(&format!("place_{index}_{operand}"), place)?;
                    let (x, count, v) = (&names[operand], place.len(), view(operand));
                    emit!(forward, "   {k}->copy({count}, {x}, {v}, {value}, &place_{index}_{operand});");
                    if is_active(operand) {
                        let pass = pass_on(begins[operand]);
                        emit!(backward, "   {k}->{pass}({count}, _d_{value}, &place_{index}_{operand}, _d_{x}, {v});");
                    }
                }
            }
            Primitive::Load(_) | Primitive::Map(_) => return Err(Error::Internal("emitted elsewhere".into())),
        }
        emit!(self.steps, "}} // namespace");
        let operands: Vec<usize> = node.operands.iter().map(|operand| operand.buffer).collect();
        self.step(index, &operands, &forward, &backward);
        Ok(())
    }

    /// The assignment of a step's channels.
    fn channels(&mut self, step: usize, Channels { rows, channels, side, width }: Channels) {
        emit!(self.steps, "const ct_channels channels_{step} = {{{rows}, {channels}, {side}, {width}}};");
    }

    /// How a step's index chooses.
    fn pick(&mut self, step: usize, gather: &Gather, chosen: &Tensor) {
        let is_number = u8::from(chosen.kind != Kind::Index);
        let (skips, skip) = (u8::from(gather.skip.is_some()), gather.skip.unwrap_or_default());
        let (from_end, size, stride) = (u8::from(gather.from_end), gather.size, gather.stride);
        emit!(
            self.steps,
            "const ct_pick pick_{step} = {{{size}, {stride}, {from_end}, {skips}, {skip}, {is_number}}};"
        );
    }

    /// Products of matrices, a loop over the batch.
    fn product(
        &mut self,
        index: usize,
        names: &[String],
        begins: &[Option<Begin>],
        forward: &mut String,
        backward: &mut String,
    ) -> Result<()> {
        let node = &self.program.nodes[index];
        let Primitive::Product(product) = &node.primitive else { return Ok(()) };
        let (m, n, k, count) = (product.m, product.n, product.k, product.batches.len());
        let (value, area) = (self.variable(node.buffer), product.m * product.n);
        let starts: Vec<String> = product.batches.as_flattened().iter().map(usize::to_string).collect();
        emit!(self.steps, "const size_t starts_{index}[] = {{{}}};", joined(&starts, "0, 0"));
        let listed = |which: usize| format!("{{starts_{index} + {which}, 2}}");
        let every = format!("{{nullptr, {area}}}");
        let order = |operand: usize, transposed: bool| {
            let strides = &node.operands[operand].view.strides;
            let [row, column] = [strides[strides.len() - 2], strides[strides.len() - 1]];
            if transposed { format!("{{{column}, {row}}}") } else { format!("{{{row}, {column}}}") }
        };
        let dense = format!("{{{}, 1}}", n.max(1));
        let (a, b, c) = (&names[0], &names[1], &value);
        let (first, second) = (listed(0), listed(1));
        let head = format!("   gKernels->products({count}, ");
        let add = u8::from(names.len() == 3);
        if names.len() == 3 {
            self.view(&format!("dense_{index}"), &View::contiguous(&node.shape))?;
        }
        if let Some(bias) = node.bias() {
            let ([a_start, b_start], start) = (product.batches[0], &names[2]);
            emit!(
                *forward,
                "   gKernels->biased_product({m}, {n}, {k}, {a} + {a_start}, {}, {b} + {b_start}, {}, {start} + {bias}, {c});",
                order(0, false),
                order(1, false)
            );
        } else {
            if names.len() == 3 {
                let (length, start) = (node.shape.iter().product::<usize>(), &names[2]);
                emit!(*forward, "   gKernels->copy({length}, {start}, &view_{index}_2, {value}, &dense_{index});");
            }
            emit!(
                *forward,
                "{head}{m}, {n}, {k}, {a}, {first}, {}, {b}, {second}, {}, {add}, {c}, {every}, {dense});",
                order(0, false),
                order(1, false)
            );
        }
        let begin = |operand: usize| begins.get(operand).copied().flatten();
        if let Some(begin) = begin(0) {
            let (plain, turned, add) = (order(0, false), order(1, true), u8::from(begin != Begin::Store));
            emit!(
                *backward,
                "{head}{m}, {k}, {n}, _d_{c}, {every}, {dense}, {b}, {second}, {turned}, {add}, _d_{a}, {first}, {plain});"
            );
        }
        if let Some(begin) = begin(1) {
            let (plain, turned, add) = (order(1, false), order(0, true), u8::from(begin != Begin::Store));
            emit!(
                *backward,
                "{head}{k}, {n}, {m}, {a}, {first}, {turned}, _d_{c}, {every}, {dense}, {add}, _d_{b}, {second}, {plain});"
            );
        }
        if begin(2).is_some() {
            let (length, pass, x) = (node.shape.iter().product::<usize>(), pass_on(begins[2]), &names[2]);
            emit!(*backward, "   gKernels->{pass}({length}, _d_{value}, &dense_{index}, _d_{x}, &view_{index}_2);");
        }
        Ok(())
    }
}

/// Batch normalisation; its pullback makes the sums over the channels once for all operands.
#[allow(clippy::too_many_arguments)] // Those of a step, and where its lines go.
fn standardise(
    index: usize,
    channels: Channels,
    eps: f64,
    names: &[String],
    begins: &[Option<Begin>],
    value: &str,
    forward: &mut String,
    backward: &mut String,
) {
    let ([x, moments, w, b], count) = (names, channels.channels) else { return };
    let given = format!("&channels_{index}, {eps:e}, {x}, {moments}, {moments} + {count}");
    emit!(*forward, "   gKernels->standardise({given}, {w}, {b}, {value});");
    let begin = |operand: usize| begins.get(operand).copied().flatten();
    if [0, 2, 3].iter().all(|&operand| begin(operand).is_none()) {
        return;
    }
    emit!(*backward, "   ::std::vector<double> sums(2 * {count}); // too many for the stack, perhaps");
    emit!(*backward, "   double *shift = sums.data(), *slope = shift + {count};");
    emit!(*backward, "   gKernels->standardise_sums({given}, _d_{value}, shift, slope);");
    for (operand, sums, name) in [(2, "slope", w), (3, "shift", b)] {
        if let Some(begin) = begin(operand) {
            let assign = if begin == Begin::Store { "=" } else { "+=" };
            emit!(*backward, "   for (size_t i = 0; i < {count}; ++i)\n      _d_{name}[i] {assign} {sums}[i];");
        }
    }
    if let Some(begin) = begin(0) {
        let (elements, add) = (channels.rows * channels.side, u8::from(begin != Begin::Store));
        emit!(
            *backward,
            "   gKernels->standardise_pullback(&channels_{index}, {elements}, {eps:e}, {x}, {moments}, {moments} + {count}, {w}, shift, \
             slope, _d_{value}, {add}, _d_{x});"
        );
    }
}

/// The kernel that gives an operand's adjoint a view of the value's.
fn pass_on(begin: Option<Begin>) -> &'static str {
    if begin == Some(Begin::Store) { "copy" } else { "accumulate" }
}
