// Predictions as columns of a data frame.

#include <CladTorch/Error.hxx>
#include <CladTorch/Guard.hxx>
#include <CladTorch/Model.hxx>

#include "CoreBox.hxx"
#include "Expression.hxx"
#include "Frame.hxx"
#include "Interrupt.hxx"
#include "Resolve.hxx"
#include "RootChecks.hxx"
#include "Score.hxx"
#include "ScoreBlocks.hxx"
#include "ReadSource.hxx"

#include <ROOT/RDF/InterfaceUtils.hxx>
#include <TError.h>

#include <algorithm>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace CladTorch {

using namespace Internal;

namespace {

/// The columns whose links an event has, in their order.
struct LinkedColumns {
   std::vector<std::string> fNames;
   std::vector<bool> fOfObjects; ///< one value for each object of the event
   bool fHaveEntries = true;     ///< ROOT numbers events as the tree does: not with several threads

   bool HaveObjects() const { return std::find(fOfObjects.begin(), fOfObjects.end(), true) != fOfObjects.end(); }
};

/// The values of the links, starting with the first column.
void Collect(const RowLink &last, std::vector<const ROOT::RVecF *> &values)
{
   for (const RowLink *link = &last; link->fPrevious; link = link->fPrevious)
      values.push_back(&link->fValues);
   std::reverse(values.begin(), values.end());
}

/// \param row [inputs]
void Assemble(const RowLink &last, std::vector<float> &row)
{
   auto end = row.end();
   for (const RowLink *link = &last; link; link = link->fPrevious)
      end = std::copy_backward(link->fValues.begin(), link->fValues.end(), end);
}

/// The number of objects of an event; throws if its columns differ in it.
std::size_t Objects(const LinkedColumns &columns, const std::vector<const ROOT::RVecF *> &values, ULong64_t entry)
{
   const auto first = std::find(columns.fOfObjects.begin(), columns.fOfObjects.end(), true) - columns.fOfObjects.begin();
   const auto count = values[static_cast<std::size_t>(first)]->size();
   for (std::size_t i = 0; i < values.size(); ++i)
      if (columns.fOfObjects[i] && values[i]->size() != count)
         throw Error("column '" + columns.fNames[i] + "' has " + std::to_string(values[i]->size()) + " numbers and column '" +
                     columns.fNames[static_cast<std::size_t>(first)] + "' " + std::to_string(count) + " in " +
                     (columns.fHaveEntries ? "entry " + std::to_string(entry) : "an event (one thread would say which)") +
                     ": the columns of one score an object need one number for each object");
   return count;
}

/// Row `object` of an event: one value of each column of objects, all values of the others.
/// \param row [inputs]
void Assemble(const LinkedColumns &columns, const std::vector<const ROOT::RVecF *> &values, std::size_t object,
              std::vector<float> &row)
{
   auto to = row.begin();
   for (std::size_t i = 0; i < values.size(); ++i) {
      const auto &of = *values[i];
      if (columns.fOfObjects[i])
         *to++ = of[object];
      else
         to = std::copy(of.begin(), of.end(), to);
   }
}

/// A name that data frames treat as internal and do not list.
std::string HiddenName(const std::string &name, std::size_t column)
{
   return "rdf_cladtorch_" + name + "_" + std::to_string(column) + "_";
}

/// The column of one of several outputs for each object.
std::string OutputColumn(const std::string &name, std::size_t output)
{
   return name + "_" + std::to_string(output);
}

/// Checked here because data frames would name the hidden columns, not the requested one.
void CheckNewColumn(ROOT::RDF::RNode frame, const std::string &name)
{
   ROOT::Internal::RDF::CheckValidCppVarName(name, "Define");
   if (frame.HasColumn(name))
      throw std::runtime_error(Describe(frame) + " already has a column '" + name +
                               "': give the prediction another name");
}

/// An expression is code. One that came with a file runs only if the user allows it.
void CheckOrigin(ROOT::RDF::RNode frame, const ModelData &model, const std::string &text)
{
   if (model.fFromFile && !frame.HasColumn(text) && !IsPlainName(text))
      throw std::runtime_error("the model was read from a file and has the column '" + text +
                               "', an expression, which would run as code: give the columns, if you trust them, as in "
                               "Define(frame, name, model.Columns())");
}

/// The model's columns; if it has none, the given ones: a scalar for each input, or one list of all inputs.
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

/// \param given Replaces the names of `columns`, if not empty.
ROOT::RDF::RNode DefineLinks(ROOT::RDF::RNode frame, const ModelData &model, const rust::Vec<Core::ColumnSpec> &columns,
                             const std::string &name, const std::vector<std::string> &given, LinkedColumns &linked)
{
   const auto source = Describe(frame);
   std::size_t count = 0;
   frame = frame.Define(HiddenName(name, count), [] { return RowLink(); });
   for (const auto &column : columns) {
      auto target = FeatureTarget(column, 0);
      target.fOfObjects = target.fScalar;
      if (given.empty())
         CheckOrigin(frame, model, target.fColumn);
      else if (given[count] != target.fName) // a mask has its own name
         target.fColumn = given[count];
      linked.fNames.push_back(target.fColumn);
      const auto &functions = Resolve(frame, target, source);
      CheckColumns(frame, target.fReads, source);
      target.fOfObjects = target.fOfObjects && !functions.fScalar;
      linked.fOfObjects.push_back(target.fOfObjects);
      frame = functions.fDefine(frame, HiddenName(name, count + 1), HiddenName(name, count), target);
      ++count;
   }
   return frame;
}

/// One prediction per event: a number, or a list of C numbers.
ROOT::RDF::RNode DefineForEvents(ROOT::RDF::RNode frame, const std::string &name, std::shared_ptr<const ModelData> model,
                                 const std::string &last)
{
   const auto inputs = Core::model_inputs(*model->fCore), outputs = Core::model_outputs(*model->fCore);
   auto all = [model, inputs, outputs](const RowLink &link) {
      thread_local std::vector<float> row;
      row.resize(inputs);
      Assemble(link, row);
      ROOT::RVecF scores(outputs);
      Score(*model, row.data(), inputs, scores.data(), outputs);
      return scores;
   };
   if (outputs == 1)
      return frame.Define(name, [all](const RowLink &link) { return all(link)[0]; }, {last});
   return frame.Define(name, all, {last});
}

/// One prediction for each object of an event: a list, or one list for each output.
ROOT::RDF::RNode DefineForObjects(ROOT::RDF::RNode frame, const std::string &name, std::shared_ptr<const ModelData> model,
                                  const std::string &last, const LinkedColumns &columns)
{
   const auto inputs = Core::model_inputs(*model->fCore), outputs = Core::model_outputs(*model->fCore);
   // [outputs, objects], one output after the other
   auto all = [model, columns, inputs, outputs](const RowLink &link, ULong64_t entry) {
      thread_local std::vector<float> row, scores;
      thread_local std::vector<const ROOT::RVecF *> values;
      row.resize(inputs);
      scores.resize(outputs);
      values.clear();
      Collect(link, values);
      const auto objects = Objects(columns, values, entry);
      ROOT::RVecF lists(outputs * objects);
      for (std::size_t object = 0; object < objects; ++object) {
         Assemble(columns, values, object, row);
         Score(*model, row.data(), inputs, scores.data(), outputs);
         for (std::size_t output = 0; output < outputs; ++output)
            lists[output * objects + object] = scores[output];
      }
      return lists;
   };
   if (outputs == 1)
      return frame.Define(name, all, {last, "rdfentry_"});
   const auto lists = HiddenName(name, columns.fNames.size() + 1);
   frame = frame.Define(lists, all, {last, "rdfentry_"});
   for (std::size_t output = 0; output < outputs; ++output)
      frame = frame.Define(OutputColumn(name, output), [output, outputs](const ROOT::RVecF &all) {
         const auto objects = all.size() / outputs;
         const auto *first = all.data() + output * objects;
         return ROOT::RVecF(first, first + objects);
      }, {lists});
   return frame;
}

} // namespace

ROOT::RDF::RNode
Model::Define(ROOT::RDF::RNode frame, const std::string &name, const std::vector<std::string> &given) const
{
   return LongCall(Where("Define"), [&]() -> ROOT::RDF::RNode {
      CheckNewColumn(frame, name);
      const auto columns = ColumnsOf(*fData, given);
      LinkedColumns linked{{}, {}, frame.GetNSlots() == 1};
      auto links = DefineLinks(frame, *fData, columns, name, given, linked);
      const auto last = HiddenName(name, columns.size());
      if (!linked.HaveObjects())
         return DefineForEvents(links, name, Frozen(), last);
      for (std::size_t output = 0; Outputs() > 1 && output < Outputs(); ++output)
         CheckNewColumn(frame, OutputColumn(name, output));
      return DefineForObjects(links, name, Frozen(), last, linked);
   });
}

ROOT::RDF::RNode Model::DefineBatched(ROOT::RDF::RNode frame, const std::string &name) const
{
   return LongCall(Where("DefineBatched"), [&]() -> ROOT::RDF::RNode {
      CheckNewColumn(frame, name);
      if (Core::model_columns(*fData->fCore).empty())
         throw std::runtime_error("the model has no columns yet: train it with Fit, or set them with SetColumns");
      std::string reason;
      const auto blocks = MakeScoreBlocks(frame, Frozen(), Where("DefineBatched"), reason);
      if (!blocks) {
         ::Info(Where("DefineBatched").c_str(), "event by event: %s", reason.c_str());
         return Define(frame, name);
      }
      if (Outputs() == 1)
         return frame.Define(name, [blocks](ULong64_t entry) { return *blocks->At(entry); }, {"rdfentry_"});
      return frame.Define(name, [blocks, outputs = Outputs()](ULong64_t entry) {
         const auto *first = blocks->At(entry);
         return ROOT::RVecF(first, first + outputs);
      }, {"rdfentry_"});
   });
}

} // namespace CladTorch
