//! A program laid out: all of it at once, or block by block of its rows.

use super::blocks::{BlockRows, Blocks};
use super::buffer_assignment::BufferAssignment;
use super::executor::{Executor, Run};
use super::stages::Stages;
use crate::device::Element;
use crate::error::Result;
use crate::graph::Program;
use crate::kernels::Scalar;

/// The form in which a program runs.
pub enum Form<T> {
    /// All of it at once.
    Whole(Executor<T>),
    /// In blocks.
    Blocks(Box<Blocks<T>>),
    /// In blocks that meet at batch statistics.
    Stages(Box<Stages<T>>),
}

impl<T: Scalar + Element> Form<T> {
    /// In blocks of rows where it can be cut into several.
    pub fn new(program: &Program, rows: BlockRows) -> Result<Self> {
        Ok(match Blocks::new(program, rows)? {
            Some(blocks) => Form::Blocks(Box::new(blocks)),
            None => Form::whole(program)?,
        })
    }

    /// All of it at once.
    pub fn whole(program: &Program) -> Result<Self> {
        Ok(Form::Whole(Executor::new(program, &BufferAssignment::new(program))?))
    }

    /// To run it.
    pub fn run(&self) -> &(dyn Run<T> + Sync) {
        match self {
            Form::Whole(executor) => executor,
            Form::Blocks(blocks) => &**blocks,
            Form::Stages(stages) => &**stages,
        }
    }

    /// The programs that run, each with when it does, if there is more than one.
    pub fn parts<'a>(&'a self, whole: &'a Program) -> Vec<(String, &'a Program)> {
        match self {
            Form::Whole(_) | Form::Stages(_) => vec![(String::new(), whole)],
            Form::Blocks(blocks) => blocks.parts(),
        }
    }
}
