/// \file objects_write.C
/// \brief Writes objects.root: the tree `t` of objects in every way that a tree can hold them, and the tree `truth` with
///        the numbers of its columns, in vectors.
///
/// Compiled by ACLiC, which makes the dictionaries; objects_read.C reads with and without them.

#include "objects.h"

#include <map>
#include <memory>

/// The number `j` of the member of object `k` in entry `i`: none is negative.
inline int Value(int i, int k, int j)
{
   return 100 * i + 10 * k + j;
}

using Numbers_t = std::vector<double>; // as in objects_read.C

template <class List>
void SetList(List &m, int i, int k, Numbers_t &truth)
{
   m.clear();
   for (int j = 0; j < (i + k) % 4; ++j) {
      m.insert(m.end(), Value(i, k, j));
      truth.push_back(Value(i, k, j));
   }
}
void Set(std::set<int> &m, int i, int k, Numbers_t &truth) { SetList(m, i, k, truth); }
void Set(std::list<float> &m, int i, int k, Numbers_t &truth) { SetList(m, i, k, truth); }
void Set(std::deque<int> &m, int i, int k, Numbers_t &truth) { SetList(m, i, k, truth); }

/// Fills a member, and appends its numbers to `truth`.
template <class T>
void Set(T &m, int i, int k, Numbers_t &truth)
{
   if constexpr (std::is_same<T, std::string>::value) {
      m = std::string(i % 30, 'x');
   } else if constexpr (std::is_same<T, Inner>::value) {
      m = {Value(i, k, 0), float(Value(i, k, 1))};
   } else if constexpr (std::is_array<T>::value) {
      int j = 0;
      for (auto &each : m)
         Set(each, i, k + 7 * j++, truth);
   } else {
      m = std::is_same<T, bool>::value ? (i + k) % 2 : Value(i, k, 0);
      truth.push_back(m);
   }
}

template <class T>
void Set(std::vector<T> &m, int i, int k, Numbers_t &truth)
{
   m.resize((i + k) % 4);
   for (std::size_t j = 0; j < m.size(); ++j)
      Set(m[j], i, k + j, truth);
}

void Set(std::vector<bool> &m, int i, int k, Numbers_t &truth)
{
   m.clear();
   for (int j = 0; j < (i + k) % 4; ++j) {
      m.push_back((i + j) % 2);
      truth.push_back(m.back());
   }
}

void Set(std::bitset<9> &m, int i, int k, Numbers_t &truth)
{
   m = (i + k) % 512;
   for (std::size_t j = 0; j < m.size(); ++j)
      truth.push_back(m[j]);
}

/// The columns of the tree `truth`.
using Truths_t = std::map<std::string, Numbers_t>;

template <class T>
void SetObject(T &object, int i, int k, const std::string &name, Truths_t &truth)
{
   object.id = 10 * i + k;
   truth[name + "_id"].push_back(object.id);
   Set(object.m, i, k, truth[name + "_m"]);
   if constexpr (std::is_same<decltype(object.m), Inner>::value) {
      truth[name + "_m_a"].push_back(object.m.a);
      truth[name + "_m_b"].push_back(object.m.b);
   } else if constexpr (std::is_same<decltype(object.m), std::vector<Inner>>::value) {
      auto &a = truth[name + "_m_a"], &b = truth[name + "_m_b"];
      for (const auto &each : object.m) {
         a.push_back(each.a);
         b.push_back(each.b);
      }
   }
}

/// One kind: in a vector, split and not; in a TClonesArray; alone.
struct Branches {
   virtual ~Branches() = default;
   virtual void Fill(int i, int objects, Truths_t &truth) = 0;
};

template <class Struct, class Class>
class BranchesOf : public Branches {
public:
   BranchesOf(TTree &t, const std::string &name, const char *type)
      : fName(name), fClones(type)
   {
      t.Branch(("v" + name).c_str(), &fVector, 2000, 99);
      t.Branch(("u" + name).c_str(), &fUnsplit, 2000, 0);
      t.Branch(("c" + name).c_str(), &fClones, 2000, 99);
      t.Branch(("s" + name + ".").c_str(), &fSingle, 2000, 99);
   }
   void Fill(int i, int objects, Truths_t &truth) override
   {
      fVector.resize(objects);
      fClones.Delete();
      for (int k = 0; k < objects; ++k) {
         SetObject(fVector[k], i, k, "v" + fName, truth);
         SetObject(*new (fClones[k]) Class, i, k, "c" + fName, truth);
      }
      fUnsplit = fVector;
      SetObject(fSingle, i, 0, "s" + fName, truth);
   }

private:
   std::string fName;
   std::vector<Struct> fVector, fUnsplit;
   TClonesArray fClones;
   Struct fSingle;
};

void objects_write()
{
   constexpr int kEntries = 60;
   TFile file("objects.root", "recreate");
   TTree t("t", ""), truth("truth", "");
   std::vector<std::unique_ptr<Branches>> kinds;
#define CLADTORCH_BOOK(name, type, dimensions) \
   kinds.push_back(std::make_unique<BranchesOf<name##Struct, name##Class>>(t, #name, #name "Class"));
   CLADTORCH_KINDS(CLADTORCH_BOOK)
   TClonesArray counts("CountClass"), derived("DerivedClass");
   t.Branch("counts", &counts, 2000, 99);
   t.Branch("derived", &derived, 2000, 99);
   Event event;
   std::vector<NumberStruct> twins;
   std::vector<std::vector<short>> deep;
   std::vector<std::set<int>> sets;
   std::list<float> list;
   t.Branch("Event", &event, 2000, 99); // no dot behind: its members are branches of their own names
   t.Branch("twins", &twins, 2000, 99); // as one of them
   t.Branch("deep", &deep);
   t.Branch("sets", &sets);
   t.Branch("list", &list);
   Truths_t columns;
   for (int i = 0; i < kEntries; ++i) {
      for (auto &column : columns)
         column.second.clear();
      for (auto &kind : kinds)
         kind->Fill(i, (i + 1) % 4, columns);
      counts.Delete();
      derived.Delete();
      for (int k = 0; k < (i + 1) % 3; ++k) {
         auto &count = *new (counts[k]) CountClass;
         count.id = i;
         count.n = 2;
         count.m = new float[2]{1, 2};
         auto &object = *new (derived[k]) DerivedClass;
         object.id = i;
         object.b = i + k;
         columns["counts_id"].push_back(i);
         columns["counts_n"].push_back(2);
         columns["derived_id"].push_back(i);
         columns["derived_b"].push_back(i + k);
      }
      event.run = i;
      columns["Event_run"] = columns["run"] = {double(i)};
      Set(event.values, i, 0, columns["Event_values"] = {});
      columns["values"] = columns["Event_values"];
      event.twins.resize(1);
      event.twins[0].id = i;
      event.twins[0].m = i;
      twins.resize(2);
      twins[0].id = twins[1].id = 7;
      columns["twins_id"] = {7, 7};
      columns["twins_m"] = {0, 0};
      columns["Event_twins_id"] = columns["Event_twins_m"] = {double(i)};
      Set(deep, i, 0, columns["deep"]);
      Set(sets, i, 0, columns["sets"]);
      Set(list, i, 0, columns["list"]);
      if (i == 0)
         for (auto &column : columns)
            truth.Branch(column.first.c_str(), &column.second);
      t.Fill();
      truth.Fill();
   }
   t.Write();
   truth.Write();
}

#include "objects_link.h"
