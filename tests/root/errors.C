/// \file errors.C
/// \brief Every bad source, column and option: the message names it, the dataset is unchanged, the session continues.

R__LOAD_LIBRARY(libcladtorch)
#include <CladTorch/CladTorch.hxx>
#include <CladTorch/Testing.hxx>
#include "check.h"

#include <TChain.h>
#include <TFile.h>
#include <TTree.h>

#include <fstream>
#include <functional>
#include <limits>
#include <map>
#include <string>

using CladTorch::Dataset;
using CladTorch::FitOptions;
using CladTorch::Mlp;

std::string gReported; ///< places that reported errors

void WriteEvents()
{
   TFile file("events.root", "recreate");
   TTree tree("events", "");
   float x = 0, bad = 0, array[3] = {};
   double huge = 1;
   int label = 0;
   std::string text = "text";
   tree.SetAutoFlush(10);
   tree.Branch("x", &x);
   tree.Branch("bad", &bad);
   tree.Branch("huge", &huge);
   tree.Branch("label", &label);
   tree.Branch("array", array, "array[3]/F");
   tree.Branch("text", &text);
   for (int i = 0; i < 100; ++i) {
      x = i;
      label = i % 2;
      bad = i == 57 || i == 81 ? std::numeric_limits<float>::quiet_NaN() : i;
      huge = i == 33 ? 1e300 : i;
      array[1] = i == 70 ? std::numeric_limits<float>::infinity() : i;
      tree.Fill();
   }
   tree.Write();
   TTree none("none", "");
   none.Branch("x", &x);
   none.Write();
   file.mkdir("folder")->cd();
   tree.CloneTree()->Write("inner");
}

/// Folder a, with a tree and a folder b whose list of keys is the one of a: a/b/b/b... has no end.
void WriteEndlessFolders()
{
   {
      TFile file("endless.root", "recreate", "", 0);
      auto *a = file.mkdir("a");
      a->mkdir("b");
      a->cd();
      TTree("leaf", "").Write();
      file.Write();
   }
   // A folder's record: version (2 bytes), two times, sizes of its keys (at 10) and name, three positions, the last
   // (at 26) that of its keys; 4 bytes each.
   std::size_t records[2];
   {
      TFile file("endless.root");
      auto *a = file.GetDirectory("a");
      records[0] = a->GetSeekDir() + file.GetKey("a")->GetKeylen();
      records[1] = a->GetDirectory("b")->GetSeekDir() + a->GetKey("b")->GetKeylen();
   }
   std::fstream raw("endless.root", std::ios::in | std::ios::out | std::ios::binary);
   for (const std::size_t field : {10, 26}) {
      char bytes[4];
      raw.seekg(records[0] + field).read(bytes, 4);
      raw.seekp(records[1] + field).write(bytes, 4);
   }
}

void CheckColumns()
{
   const auto add = [](std::vector<std::string> columns, const char *cut = "") {
      Dataset data(columns);
      data.Add("events", "events.root", 1, cut);
   };
   Refuses("missing column", [&] { add({"x", "lable"}); }, {"no column 'lable'", "'label'", "events.root"});
   Refuses("text column", [&] { add({"text"}); }, {"'text'", "string", "arithmetic"});
   Refuses("array without length", [&] { add({"array"}); }, {"'array'", "RVec", "Column(\"array\", length)"});
   Refuses("scalar with length", [] { Dataset().Column("x", 3).Add("events", "events.root", 1); }, {"'x'", "scalar"});
   Refuses("NaN", [&] { add({"x", "bad"}); }, {"'bad'", "nan", "entry 57", "events.root", "2 events"});
   Refuses("too large for float32", [&] { add({"huge"}); }, {"'huge'", "1e+300", "entry 33"});
   Refuses("infinity in an array", [] { Dataset().Column("array", 2).Add("events", "events.root", 1); },
           {"'array'", "inf", "entry 70"});
   Refuses("NaN in a label", [] { Dataset({"x"}).Add("events", "events.root", "bad"); },
           {"label column 'bad'", "entry 57"});
   Refuses("NaN in a weight", [] { Dataset({"x"}).SetWeight("bad").Add("events", "events.root", 1, "x > 60"); },
           {"weight column 'bad'", "entry 81"});
   Refuses("NaN as label", [] { Dataset({"x"}).Add("events", "events.root", std::nan("")); },
           {"label of tree 'events'", "not a finite number"});
   Refuses("null as label", [] { Dataset({"x"}).Add("events", "events.root", nullptr); }, {"label column is empty"});
   Refuses("array as label", [] { Dataset({"x"}).Add("events", "events.root", "array"); },
           {"'array'", "labels and weights"});
   Refuses("no event passes", [&] { add({"x"}, "x > 1000"); }, {"no event", "x > 1000", "events.root"});
   Refuses("cut that is no expression", [&] { add({"x"}, "x >"); }, {"'x >'", "events.root", "just-in-time"});
   Refuses("cut on a missing column", [&] { add({"x"}, "nosuch > 1"); }, {"'nosuch > 1' (it has no column 'nosuch'; the nearest of its 6"});
   Refuses("cut with a misspelt column", [&] { add({"x"}, "std::sqrt(x) < 3 && Label==1"); }, {"no column 'Label'", "6: 'label', "});
   Refuses("cut that assigns", [&] { add({"x"}, "x <= 3 && label=1"); }, {"write == to compare"});
   Refuses("expression with a misspelt column", [&] { add({"x", "x*array_[1]"}); }, {"'array_'", "6: 'array', "});
   Refuses("source with a misspelt cut", [] { Dataset({"x"}).Add(CladTorch::Source("events", "events.root").Filter("lable > 0"), 1); },
           {"'label'"});
   Refuses("duplicate column", [&] { add({"x", "x"}); }, {"\"x\" is listed twice"});
   Refuses("no columns", [&] { add({}); }, {"without columns"});
   Refuses("empty name", [&] { add({""}); }, {"without a name"});
   Refuses("huge length", [] { Dataset().Column("x", std::size_t(1) << 62); }, {"\"x\" has length", "at most"});
   Refuses("pad that is no number", [] { Dataset().Column("v", 3, std::nanf("")); },
           {"\"v\" has pad NaN", "finite"});
   Refuses("infinite pad", [] { Dataset().Column("v", 3, HUGE_VALF); }, {"\"v\" has pad inf", "finite"});
   Refuses("column after events", [] { Dataset({"x"}).Add("events", "events.root", 1).Column("label"); },
           {"'label'", "too late"});
}

void CheckSources()
{
   Dataset data({"x"});
   TTree *null = nullptr;
   Refuses("null tree", [&] { data.Add(null, 1); }, {"null"});
   Refuses("missing file", [&] { data.Add("events", "nowhere.root", 1); }, {"nowhere.root"});
   std::ofstream("plain_name") << "some file";
   for (const char *file : {"events.root", "nowhere.root", "root://host//events", "plain_name"})
      for (const char *tree : {"events", "folder/inner", ""})
         Refuses("file before tree", [&] { data.Add(file, tree, 1); }, {file, "the name of the tree comes first"});
   Refuses("glob without match", [&] { data.Add("events", "nowhere*.root", 1); }, {"nowhere*.root"});
   for (const char *name : {"run[.root", "ru[n*.root", "run[0-9].r[oot"})
      Refuses(name, [&] { data.Add("events", name, 1); }, {name, "'[' without ']'"});
   for (const char *name : {"no where/wei\xc3\x9f #1?.root", "#.root", "a?b=c.root", "x.root#y"})
      Refuses(name, [&] { data.Add("events", name, 1); }, {name});
   Refuses("missing tree", [&] { data.Add("evnts", "events.root", 1); },
           {"'evnts'", "events.root", "'events'", "'none'", "'folder/inner'"});
   Refuses("missing folder", [&] { data.Add("nosuch/inner", "events.root", 1); }, {"no tree 'nosuch/inner'"});
   Refuses("folder as tree", [&] { data.Add("folder", "events.root", 1); }, {"no tree 'folder'"});
   Refuses("missing cycle", [&] { data.Add("events;7", "events.root", 1); }, {"no tree 'events;7'", "'events'"});
   WriteEndlessFolders();
   CHECK(std::make_unique<TFile>("endless.root")->GetDirectory("a/b/b/b/b/b/b/b/b/b/b/b") != nullptr);
   Refuses("folders without end", [&] { data.Add("nosuch", "endless.root", 1); }, {"no tree 'nosuch'", "'a/leaf'"});
   Refuses("tree without entries", [&] { data.Add("none", "events.root", 1); }, {"'none'", "no events"});
   std::ofstream("zombie.root") << "root, but not really a ROOT file";
   Refuses("zombie file", [&] { data.Add("events", "zombie.root", 1); }, {"zombie.root", "cannot be opened"});
   std::ifstream whole("events.root", std::ios::binary);
   std::string bytes((std::istreambuf_iterator<char>(whole)), {});
   std::ofstream("cut.root", std::ios::binary) << bytes.substr(0, bytes.size() / 2);
   Refuses("truncated file", [&] { data.Add("events", "cut.root", 1); }, {"cut.root"});
   TChain chain("events");
   Refuses("chain without files", [&] { data.Add(chain, 1); }, {"no files"});
   chain.Add("events.root");
   chain.Add("nowhere.root");
   Refuses("chain with a missing file", [&] { data.Add(chain, 1); }, {"nowhere.root"});
   ROOT::RDataFrame frame("events", "events.root");
   const auto limited = [](float x) {
      if (x > 50)
         throw std::runtime_error("thrown by the user");
      return x;
   };
   auto throwing = frame.Define("y", limited, {"x"});
   Dataset other({"y"});
   Refuses("exception in a Define", [&] { other.Add(throwing, 1); }, {"thrown by the user", "events.root"});
   CHECK(data.Rows() == 0 && other.Rows() == 0);
   data.Add(frame, 1, "x < 10");
   Refuses("bad source after a good one", [&] { data.Add(frame, 0, "x > 1000"); }, {"no event"});
   CHECK(data.Rows() == 10 && data.Features()(9) == 9); // as it was
}

/// No driver, or no GPU that it could see: the message tells which.
void CheckDevice(const Dataset &data)
{
   if (!gSystem->AccessPathName("/dev/nvidia0")) { // it exists
      std::printf("SKIPPED: cuda:0 on a machine without a GPU, this one has one\n");
      return;
   }
   FitOptions options;
   options.fDevice = "cuda:0";
   Refuses("GPU where there is none", [&] { Mlp({1, 1}).Fit(data, options); },
           {"device \"cuda:0\" cannot be used", "driver", "use \"cpu\""});
}

void CheckFit()
{
   Dataset data({"x"});
   data.Add("events", "events.root", "label");
   Mlp model({1, 4, 1});
   const auto with = [&](auto set) {
      return [&model, &data, set] {
         FitOptions options;
         options.fVerbose = 0;
         set(options);
         model.Fit(data, options);
      };
   };
   const std::vector<float> before(model.Parameters().begin(), model.Parameters().end());
   Refuses("negative learning rate", with([](auto &o) { o.fLearningRate = -1; }), {"fLearningRate"});
   Refuses("NaN learning rate", with([](auto &o) { o.fLearningRate = std::nan(""); }), {"fLearningRate"});
   for (const auto count : std::initializer_list<std::int64_t>{-9223372036854775807, -5, -1, 0, 1000000001}) {
      const auto value = " = " + std::to_string(count) + "; it must be from 1 to 1";
      Refuses("batch", with([&](auto &o) { o.fBatchSize = count; }), {("fBatchSize" + value).c_str()});
      if (count >= -5)
         Refuses("epochs", with([&](auto &o) { o.fEpochs = count; }), {("fEpochs" + value).c_str()});
      if (count < 0 && count >= -5)
         Refuses("threads", with([&](auto &o) { o.fThreads = count; }), {("fThreads" + value).c_str(), "or 0 for all cores"});
   }
   Refuses("huge learning rate", with([](auto &o) { o.fLearningRate = -1e30; }), {"fLearningRate = -1e30; it must"});
   Refuses("all for validation", with([](auto &o) { o.fValidation = 1; }), {"fValidation"});
   Refuses("NaN for validation", with([](auto &o) { o.fValidation = std::nan(""); }), {"fValidation"});
   Refuses("unknown device", with([](auto &o) { o.fDevice = "gpu?"; }), {"gpu?"});
   Refuses("unknown optimiser", with([](auto &o) { o.fOptimiser = static_cast<CladTorch::EOptimiser>(99); }),
           {"fOptimiser = 99 is unknown"});
   Refuses("unknown loss", with([](auto &o) { o.fLoss = static_cast<CladTorch::ELoss>(99); }),
           {"fLoss = 99 is unknown"});
   bool same = true;
   for (std::size_t i = 0; i < before.size(); ++i)
      same = same && model.Parameters()(i) == before[i];
   CHECK(same);
   Refuses("wrong number of inputs", [&] { Mlp({2, 1}).Fit(data); },
           {"dataset has 1 number an event", "model takes 2"});
   Refuses("empty dataset", [&] { model.Fit(Dataset({"x"})); }, {"no events"});
   Refuses("a label between classes", [&] { model.Fit(Dataset(data).Add("folder/inner", "events.root", 1.5)); },
           {"selected event 0 of tree 'folder/inner' of events.root has label 1.5"});
   Refuses("a label that is no class", [&] { model.Fit(Dataset({"x"}).Add("events", "events.root", "x", "x > 0")); },
           {"selected event 1 of tree 'events' of events.root, label column 'x', has label 2", "kBinaryCrossEntropy"});
   Refuses("dataset without columns", [&] { model.Fit(Dataset()); }, {"0 numbers"});
   CheckDevice(data);
}

/// The methods for classifiers report errors under their own names, although they share code.
void CheckNames()
{
   Dataset other({"x", "x + 1"});
   other.Add("events", "events.root", "label");
   const Mlp model({1, 4, 1});
   const std::map<std::string, std::function<void()>> methods = {
      {"Predict", [&] { model.Predict(other); }},   {"Logits", [&] { model.Logits(other); }},
      {"Auc", [&] { model.Auc(other); }},           {"AucError", [&] { model.AucError(other); }},
      {"Roc", [&] { model.Roc(other); }},           {"Scores", [&] { model.Scores(other); }},
   };
   for (const auto &[name, call] : methods) {
      gReported.clear();
      auto *before = SetErrorHandler([](int, Bool_t, const char *where, const char *) { gReported += where; });
      Refuses(name.c_str(), call, {"2 numbers an event"});
      SetErrorHandler(before);
      CHECK(gReported == "CladTorch::Mlp::" + name);
   }
}

/// `~` is the home folder, as in ROOT's own files; text that looks like code or a variable is part of the name.
void CheckPaths(const Mlp &model)
{
   gSystem->mkdir("home"); // the test has set HOME so
   model.Save("~/x.ct");
   CHECK(std::ifstream("home/x.ct").good() && Mlp::Load("~/x.ct").Inputs() == model.Inputs());
   gSystem->mkdir("~no user~");
   for (const char *name : {"$HOME.ct", "~no user~/y.ct", "a$(touch hacked).ct", "~.ct"}) {
      model.Save(name);
      CHECK(std::ifstream(name).good() && Mlp::Load(name).Inputs() == model.Inputs());
   }
   CHECK(!std::ifstream("hacked").good());
   Refuses("no name to save to", [&] { model.Save(""); }, {"the name of the file is empty"});
   Refuses("no name to load from", [&] { Mlp::Load(""); }, {"the name of the file is empty"});
}

void CheckModels()
{
   Refuses("one layer size", [] { Mlp({3}); }, {"one size (3)"});
   Refuses("no layer size", [] { Mlp(std::vector<std::size_t>()); }, {"without layer sizes"});
   Refuses("layer of 0", [] { Mlp({3, 0, 1}); }, {"layer width 0"});
   Refuses("absurd layer", [] { Mlp({std::size_t(1) << 40, std::size_t(1) << 40, 1}); },
           {"input width 1099511627776"});
   Refuses("unknown activation", [] { Mlp({3, 1}, static_cast<CladTorch::EActivation>(99)); },
           {"activation 99 is unknown"});
   Mlp model({1, 1});
   Refuses("parameters of another model", [&] { model.SetParameters({1, 2, 3}); },
           {"3 parameters for a model of 2"});
   Refuses("functor of another width", [&] { model.Functor<3>(); }, {"3 arguments", "1 inputs"});
   Refuses("row of another width", [&] { model.Functor()(ROOT::RVecF{1, 2}); },
           {"2 features for a model that takes 1"});
   Refuses("Define before Fit", [&] { model.Define(ROOT::RDataFrame(1), "score"); }, {"no columns"});
   const auto frame = ROOT::RDataFrame(1).Define("x", "1.f");
   Refuses("prediction named like a column", [&] { model.Define(frame, "x"); }, {"already has a column 'x'"});
   Refuses("prediction with a name that is none", [&] { model.Define(frame, "a b"); }, {"\"a b\"", "valid"});
   Refuses("ROC of three outputs", [&] { Mlp({1, 3}).Roc(Dataset({"x"})); },
           {"need one output, but the model has 3"});
   for (const int bins : {-1, 0, 1000001, 2147483647})
      Refuses("bins", [&] { Mlp({1, 1}).Scores(Dataset({"x"}).Add("events", "events.root", "label"), bins); },
              {"number of bins", "1 to 1000000"});
   Refuses("functor of three outputs", [&] { Mlp({1, 3}).Functor(); }, {"3 outputs"});
   Refuses("missing model file", [] { Mlp::Load("nowhere.ct"); }, {"nowhere.ct"});
   Refuses("foreign model file", [] { Mlp::Load("events.root"); }, {"events.root"});
   Dataset shifted({"x + 1"});
   auto options = FitOptions();
   options.fVerbose = 0;
   options.fValidation = 0;
   model.Fit(shifted.Add(ROOT::RDataFrame(10).Define("x", "float(rdfentry_)").Define("y", "x > 4"), "y"), options);
   CHECK(model.Define(frame, "own").GetColumnNames().size() > 0); // who trained it wrote the expression
   model.Save("expression.ct");
   const auto loaded = Mlp::Load("expression.ct");
   Refuses("code in a model file", [&] { loaded.Define(frame, "s"); }, {"'x + 1'", "from a file", "model.Columns()"});
   auto shiftedFrame = ROOT::RDataFrame(1).Define("z", "2.f");
   const float trusted = loaded.Define(frame, "s", loaded.Columns()).Take<float>("s")->at(0);
   CHECK(Near(trusted, loaded.Define(shiftedFrame, "s", {"z"}).Take<float>("s")->at(0), 1e-6));
   Refuses("columns for another model", [&] { loaded.Define(frame, "s", {"x", "x"}); }, {"1 columns", "2 were given"});
   CheckPaths(model);
   Refuses("unwritable path", [&] { model.Save("/nowhere/model.ct"); }, {"/nowhere"});
   Refuses("history without epochs", [] { CladTorch::History().Draw(); }, {"no epochs"});
   Refuses("panic in the core", [] { CladTorch::Testing::ProvokePanic(); }, {"internal error"});
}

void errors(bool threads = false)
{
   if (threads)
      ROOT::EnableImplicitMT(4);
   WriteEvents();
   CheckColumns();
   CheckSources();
   CheckFit();
   CheckModels();
   CheckNames();
   Passed();
}
