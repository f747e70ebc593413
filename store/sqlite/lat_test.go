package sqlite
import ("testing";"time";"path/filepath";"sort";"fmt";"os";"context";"sync";"github.com/openrath-go/rath/store")
func TestLat(t *testing.T){
 if os.Getenv("LAT")=="" {t.Skip()}
 path := filepath.Join(t.TempDir(), "rath.db")
 _, b := task{Path: path, Runs: 8, For: 6*time.Second}.start(t)
 <-b
 go func(){for range b{}}()
 s:=openFile(t,path,nil)
 ctx:=context.Background()
 var mu sync.Mutex; var ds []time.Duration
 var wg sync.WaitGroup
 st:=time.Now()
 for range 4 { l,head:=newRun(t,s); wg.Go(func(){
  for time.Since(st)<4*time.Second { e,_:=head.Next("x",time.Now(),intent); head=e.Head(); a:=time.Now(); if err:=s.Append(ctx,l,store.Batch{Events:[]store.Event{e}}).Wait(ctx);err!=nil{t.Error(err)}; d:=time.Since(a); mu.Lock();ds=append(ds,d);mu.Unlock()}})}
 wg.Wait()
 sort.Slice(ds,func(i,j int)bool{return ds[i]<ds[j]})
 n:=len(ds)
 fmt.Println(n,"p50",ds[n/2],"p90",ds[n*9/10],"p99",ds[n*99/100],"max",ds[n-1])
}
