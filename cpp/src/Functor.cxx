#include <CladTorch/Functor.hxx>
#include <CladTorch/Error.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "Expression.hxx"
#include "Frame.hxx"
#include "Interrupt.hxx"
#include "Resolve.hxx"
#include "RootReader.hxx"
#include "Source.hxx"

#include <ROOT/RDF/InterfaceUtils.hxx>

#include <algorithm>
#include <exception>
#include <stdexcept>

namespace CladTorch {

using namespace Internal;

namespace {

/// One event inside an event loop: an error is thrown but not printed, for every event could print it.
/// \param row [size]
/// \param out [outputs]
void Score(const ModelData &model, const float *row, std::size_t size, float *out, std::size_t outputs)
{
   try {
      Core::model_score(*model.fCore, {row, size}, false, {out, outputs});
   } catch (const std::exception &e) {
      throw Error(e.what());
   }
}

/// Follows the links from the last column to the first.
/// \param row [inputs]
void Assemble(const RowLink &last, std::vector<float> &row)
{
   auto end = row.end();
   for (const RowLink *link = &last; link; link = link->fPrevious)
      end = std::copy_backward(link->fValues.begin(), link->fValues.end(), end);
}

/// A name that data frames take for their own and do not list.
std::string HiddenName(const std::string &name, std::size_t column)
{
   return "rdf_cladtorch_" + name + "_" + std::to_string(column) + "_";
}

/// Data frames themselves would name the hidden columns, not the one that was asked for.
void CheckNewColumn(ROOT::RDF::RNode frame, const std::string &name)
{
   ROOT::Internal::RDF::CheckValidCppVarName(name, "Define");
   if (frame.HasColumn(name))
      throw std::runtime_error(Describe(frame) + " already has a column '" + name +
                               "': give the prediction another name");
}

/// An expression is code. One that came with a file is run only if who runs it says so.
void CheckOrigin(ROOT::RDF::RNode frame, const ModelData &model, const std::string &text)
{
   if (model.fFromFile && !frame.HasColumn(text) && !IsPlainName(text))
      throw std::runtime_error("the model was read from a file and has the column '" + text +
                               "', an expression, which would run as code: give the columns, if you trust them, as in "
                               "Define(frame, name, model.Columns())");
}

/// The model's columns; where it has none, those that were given: a scalar for each input, or one list of all.
rust::Vec<Core::ColumnSpec> ColumnsOf(const ModelData &model, const std::vector<std::string> &given)
{
   auto columns = Core::model_columns(*model.fCore);
   if (!columns.empty()) {
      if (!given.empty() && given.size() != columns.size())
         throw std::runtime_error("the model has " + std::to_string(columns.size()) + " columns, " +
                                  std::to_string(given.size()) + " were given: give one for each of Columns()");
      return columns;
   }
   const auto inputs = Core::model_inputs(*model.fCore);
   if (given.empty())
      throw std::runtime_error("the model has no columns yet: train it with Fit, set them with SetColumns, or give them, "
                               "as in Define(frame, name, {\"x\", \"y\"})");
   if (given.size() != inputs && given.size() != 1)
      throw std::runtime_error("the model takes " + std::to_string(inputs) + " numbers, " + std::to_string(given.size()) +
                               " columns were given: give a scalar for each, or one list of as many");
   for (const auto &column : given)
      columns.push_back({column, inputs / given.size(), 0, 0, "", given.size() == inputs});
   return columns;
}

/// \param given Instead of the names of `columns`; empty for those.
ROOT::RDF::RNode DefineLinks(ROOT::RDF::RNode frame, const ModelData &model, const rust::Vec<Core::ColumnSpec> &columns,
                             const std::string &name, const std::vector<std::string> &given)
{
   const auto source = Describe(frame);
   std::size_t count = 0;
   frame = frame.Define(HiddenName(name, count), [] { return RowLink(); });
   for (const auto &column : columns) {
      auto target = FeatureTarget(column, 0);
      if (given.empty())
         CheckOrigin(frame, model, target.fColumn);
      else if (given[count] != target.fName) // a mask has a name of its own
         target.fColumn = given[count];
      const auto &functions = Resolve(frame, target, source);
      CheckColumns(frame, target.fReads, source);
      frame = functions.fDefine(frame, HiddenName(name, count + 1), HiddenName(name, count), target);
      ++count;
   }
   return frame;
}

} // namespace

Functor::Functor(std::shared_ptr<const ModelData> model) : fModel(std::move(model)) {}

float Functor::Evaluate(const float *row, std::size_t size) const
{
   float score = 0;
   Score(*fModel, row, size, &score, 1);
   return score;
}

std::size_t Functor::Inputs() const
{
   return Core::model_inputs(*fModel->fCore);
}

CladTorch::Functor Model::Functor() const
{
   return Guard(Where("Functor").c_str(), [&] {
      if (Outputs() != 1)
         throw std::runtime_error("a functor returns one number, but the model has " + std::to_string(Outputs()) +
                                  " outputs: use Define, whose column holds all of them");
      return CladTorch::Functor(Frozen());
   });
}

void Model::CheckFunctor(std::size_t arguments) const
{
   Guard(Where("Functor").c_str(), [&] {
      if (arguments != Inputs())
         throw std::runtime_error("a functor of " + std::to_string(arguments) +
                                  " arguments was asked for, but the model has " + std::to_string(Inputs()) +
                                  " inputs");
   });
}

ROOT::RDF::RNode
Model::Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given) const
{
   return LongCall(Where("Define"), [&]() -> ROOT::RDF::RNode {
      CheckNewColumn(frame, name);
      const auto columns = ColumnsOf(*fData, given);
      auto linked = DefineLinks(frame, *fData, columns, name, given);
      const std::vector<std::string> last{HiddenName(name, columns.size())};
      const auto inputs = Inputs();
      const auto outputs = Outputs();
      auto all = [model = Frozen(), inputs, outputs](const RowLink &link) {
         thread_local std::vector<float> row;
         row.resize(inputs);
         Assemble(link, row);
         ROOT::RVecF scores(outputs);
         Score(*model, row.data(), inputs, scores.data(), outputs);
         return scores;
      };
      if (outputs == 1)
         return linked.Define(name, [all](const RowLink &link) { return all(link)[0]; }, last);
      return linked.Define(name, all, last);
   });
}

} // namespace CladTorch
